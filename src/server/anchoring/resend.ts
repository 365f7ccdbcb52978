// Resends mined transactions that a reorganization dropped.
import { lesser } from '../../chain/sender-state.ts';
import type { MinedAttempt } from '../ports/anchoring.ts';
import { maxFeePerGas } from '../rules/credits.ts';
import type { AnchoringContext } from './context.ts';

/**
 * The chain has lost what had the nonces from `fromNonce` on: what was mined is sent again as it is, the lowest first,
 * because some nodes take no other before it. Answers what was mined there, as far as it is looked at together.
 */
export async function resendAfterReorg(
  context: AnchoringContext,
  fromNonce: number,
): Promise<MinedAttempt[]> {
  const { store, chain, lease, signal, options } = context;
  const mined = await store.listMinedFrom(lease, fromNonce, options.maxInFlight);
  if (await store.isUsedElsewhere(lease, fromNonce)) await fill(context, fromNonce);
  const [lowest, ...rest] = mined;
  if (lowest !== undefined) await chain.broadcast(lowest.rawTx, signal);
  await Promise.all(rest.map(({ rawTx }) => chain.broadcast(rawTx, signal)));
  return mined;
}

/**
 * Sends nothing, to the account itself, where a transaction from elsewhere stood: no later nonce can be mined before. It is
 * no anchor, so it need not be durable; whatever comes to have the nonce, it is no proof's second anchor.
 */
async function fill(context: AnchoringContext, nonce: number): Promise<void> {
  const { key, chain, identity, lease, options, logger, signal } = context;
  if (key === null) return;
  const senderState = await chain.senderState(
    { identity, sender: lease.sender, payload: '0x' },
    signal,
  );
  const { gas, hasCode, maxPriorityFeePerGas: tip } = senderState;
  // What a pool holds there comes back by itself, and may be an anchor from before this database.
  const isFree = senderState.latestNonce === nonce && senderState.pendingNonce === nonce;
  if (gas.outcome !== 'estimated' || hasCode || !isFree) return;
  const fee = lesser(maxFeePerGas(senderState), options.maxFeePerGas);
  const { rawTx, txHash } = await key.signTransaction({
    chainId: lease.chainId,
    nonce,
    payload: '0x',
    gas: gas.gas,
    maxFeePerGas: fee,
    maxPriorityFeePerGas: lesser(tip, fee),
  });
  const { outcome } = await chain.broadcast(rawTx, signal);
  logger.warn(
    { nonce, tx_hash: txHash, outcome },
    'the chain has lost a transaction from elsewhere; an empty one fills its nonce',
  );
}
