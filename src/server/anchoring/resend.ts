// Resends mined transactions that a reorganization dropped.
import { lesser } from '../../chain/sender-state.ts';
import { gasLimit, maxFeePerGas } from '../rules/credits.ts';
import { type AnchoringContext, readSenderState } from './context.ts';

/**
 * Sends mined transactions again, unchanged, after the chain has lost the nonces from `fromNonce` on. The lowest nonce
 * goes first, because some nodes accept no other before it. Returns the attempts that were mined there, at most as many
 * as may be in flight.
 */
export async function resendAfterReorg(context: AnchoringContext, fromNonce: number) {
  const { store, chain, lease, signal, options } = context;
  const mined = await store.listMinedFrom(lease, fromNonce, options.maxInFlight);
  if (await store.isUsedElsewhere(lease, fromNonce)) await fill(context, fromNonce);
  const [lowest, ...rest] = mined;
  if (lowest !== undefined) await chain.broadcast(lowest.rawTx, signal);
  await Promise.all(rest.map(({ rawTx }) => chain.broadcast(rawTx, signal)));
  return mined;
}

/**
 * Fills a nonce that a transaction from elsewhere had used with an empty transaction to the account itself: no later
 * nonce can be mined before it. It is no anchor, so it need not be durable: whichever transaction gets the nonce, no
 * proof is anchored twice.
 */
async function fill(context: AnchoringContext, nonce: number): Promise<void> {
  const { key, chain, lease, options, logger, signal } = context;
  if (key === null) return;
  const senderState = await readSenderState(context, '0x');
  const { gas, hasCode, maxPriorityFeePerGas: tip } = senderState;
  // A transaction in the pool at this nonce comes back by itself, and may be an anchor that predates this database.
  const isFree = senderState.latestNonce === nonce && senderState.pendingNonce === nonce;
  if (gas.outcome !== 'estimated' || hasCode || !isFree) return;
  const fee = lesser(maxFeePerGas(senderState), options.maxFeePerGas);
  const { rawTx, txHash } = await key.signTransaction({
    chainId: lease.chainId,
    nonce,
    payload: '0x',
    gas: gasLimit(gas, { payloadBytes: 0, maxGas: options.maxGas }),
    maxFeePerGas: fee,
    maxPriorityFeePerGas: lesser(tip, fee),
  });
  const { outcome } = await chain.broadcast(rawTx, signal);
  logger.warn(
    { nonce, tx_hash: txHash, outcome },
    'foreign transaction was reorganized away; filled its nonce with an empty one',
  );
}
