// Before an account signs: decides whether the chain would accept a transaction now, and lists the account publicly.
import { SvcError } from '../../base/svc-error.ts';
import type { AnchorChain } from '../../chain/chain.ts';
import type { RefusalMeaning } from '../../chain/errors.ts';
import type { AnchorKey } from '../../chain/keys/anchor-key.ts';
import { lesser, type SenderState } from '../../chain/sender-state.ts';
import { accountText } from '../../protocol/anchoring-accounts.ts';
import type { ChainIdentity } from '../ports/anchoring.ts';
import type { AnchoringAccount } from '../ports/operations.ts';
import { gasByBytes, gasLimit, maxFeePerGas } from '../rules/credits.ts';
import { dearestSingle } from './batch.ts';
import type { AnchoringContext, Hold } from './context.ts';
import type { LiveAttempts } from './open-attempts.ts';

export interface PreflightTerms {
  /** The store's next nonce; null if this sender never had one here. */
  readonly nextNonce: number | null;
  /** The lowest of our nonces that is in no block, counting the next one; null as above. */
  readonly lowestUnmined: number | null;
  /** Whether the sender's transaction count may become its first nonce. */
  readonly isCountSettled: boolean;
  /** Sum of the fees per gas of the transactions in flight, in wei. */
  readonly feesInFlight: bigint;
  /** Highest fee per gas that may be signed, in wei. */
  readonly maxFeePerGas: bigint;
  /** Highest gas limit that may be signed. */
  readonly maxGas: bigint;
  readonly payloadBytes: number;
}

export type Decision =
  | {
      readonly decision: 'sign';
      readonly nonce: number;
      readonly gas: bigint;
      readonly maxFeePerGas: bigint;
      readonly maxPriorityFeePerGas: bigint;
    }
  /** A temporary condition, or one that the operator can resolve: proofs stay queued. */
  | { readonly decision: 'wait'; readonly reason: Hold }
  /** According to this node the transaction would fail at every price and on every node. */
  | { readonly decision: 'refuse'; readonly meaning: RefusalMeaning; readonly reason: string };

/** Step 2 of anchoring: decides whether a payload may be signed now, and with which nonce, gas and fees. */
export function preflight(senderState: SenderState, terms: PreflightTerms): Decision {
  const hold = holdOf(senderState, terms);
  const isFirst = hold === 'first_nonce';
  if (hold !== null && !isFirst) return { decision: 'wait', reason: hold };
  if (senderState.gas.outcome === 'underfunded') return { decision: 'wait', reason: 'underfunded' };
  if (senderState.gas.outcome === 'refused') {
    const { meaning, reason } = senderState.gas;
    return { decision: 'refuse', meaning, reason };
  }
  const { baseFeePerGas, maxPriorityFeePerGas } = senderState;
  if (baseFeePerGas + maxPriorityFeePerGas > terms.maxFeePerGas) {
    return { decision: 'wait', reason: 'fee_cap' };
  }
  const fee = lesser(maxFeePerGas(senderState), terms.maxFeePerGas);
  const gas = gasLimit(senderState.gas, terms);
  if (gas < senderState.gas.gas) return { decision: 'wait', reason: 'gas_cap' };
  if (neededWei(senderState, terms) > senderState.balance) {
    return { decision: 'wait', reason: 'underfunded' };
  }
  // Last, because it is no degradation: a new account shows at its first reading what else it lacks.
  if (isFirst) return { decision: 'wait', reason: hold };
  return {
    decision: 'sign',
    nonce: terms.nextNonce ?? senderState.latestNonce,
    gas,
    maxFeePerGas: fee,
    maxPriorityFeePerGas,
  };
}

/** The balance that the transaction needs, in wei. Where the nodes estimated no gas, by the bytes of the payload. */
export function neededWei(senderState: SenderState, terms: PreflightTerms): bigint {
  const { gas: estimate, dataFeeWei } = senderState;
  const isEstimated = estimate.outcome === 'estimated';
  const gas = isEstimated ? gasLimit(estimate, terms) : gasByBytes(terms.payloadBytes);
  const fee = lesser(maxFeePerGas(senderState), terms.maxFeePerGas);
  return gas * (fee + terms.feesInFlight) + dataFeeWei;
}

/**
 * Whether the sender's transaction count may become its first nonce. It must be seen twice, the second time at a later
 * head, or unchanged for `firstNonceMs` on a chain that produces blocks on demand. All later nonces depend on it, so
 * one wrong answer must not decide it.
 */
export function isCountSettled(
  { options }: AnchoringContext,
  live: LiveAttempts,
  { latestNonce, headNumber }: SenderState,
): boolean {
  const now = performance.now();
  if (live.firstReading?.latestNonce !== latestNonce) {
    live.firstReading = { latestNonce, headNumber, since: now };
  }
  const { firstReading } = live;
  if (headNumber > firstReading.headNumber) return true;
  return now - firstReading.since >= options.pauses.firstNonceMs;
}

/**
 * Refuses accounts with code, including delegated ones (EIP-7702): they can make their anchors fail or send
 * transactions of their own. Rejects with SvcError `sender_has_code`, or as `senderState` does.
 */
export async function refuseCode(
  on: { chain: AnchorChain; identity: ChainIdentity; keys: readonly AnchorKey[] },
  signal: AbortSignal,
): Promise<void> {
  const { chain, identity, keys } = on;
  await Promise.all(
    keys.map(async ({ address }) => {
      const subject = { identity, sender: address, payload: dearestSingle };
      const { hasCode } = await chain.senderState(subject, signal);
      if (!hasCode) return;
      throw new SvcError('sender_has_code', `The anchoring account ${address} has code.`, {
        hint: 'Use an account without code or EIP-7702 delegation.',
      });
    }),
  );
}

/**
 * Tracks whether the chain would refuse any anchor at all. A payload is calldata to an account without code, so if the
 * most expensive single passes, no other payload can fail by itself. A refusal must repeat at a later head, because a
 * single answer of a single node may be wrong.
 */
export class Refusals {
  /** Why the most expensive single was refused at two heads in a row; null: no refusal is confirmed. */
  confirmed: RefusalMeaning | null = null;
  #first: { meaning: RefusalMeaning; headNumber: bigint } | null = null;

  /** Whether the last estimate for the most expensive single was refused. */
  get any(): boolean {
    return this.#first !== null;
  }

  /** Call with every sender state that was read for the most expensive single. */
  note({ gas, headNumber }: SenderState): void {
    const meaning = gas.outcome === 'refused' ? gas.meaning : null;
    if (meaning === null || meaning !== this.#first?.meaning) {
      this.#first = meaning === null ? null : { meaning, headNumber };
      this.confirmed = null;
    } else if (headNumber > this.#first.headNumber) {
      this.confirmed = meaning;
    }
  }
}

function holdOf(senderState: SenderState, terms: PreflightTerms): Hold | null {
  if (senderState.hasCode) return 'sender_has_code';
  if (terms.nextNonce === null) {
    if (senderState.pendingNonce > senderState.latestNonce) return 'sender_busy';
    return terms.isCountSettled ? null : 'first_nonce';
  }
  if (senderState.latestNonce > terms.nextNonce) return 'nonce_conflict';
  // A transaction signed after a gap could not be mined, and would go out once the gap is filled.
  const isBehind = terms.lowestUnmined !== null && senderState.latestNonce < terms.lowestUnmined;
  return isBehind ? 'nonce_behind' : null;
}

const RETIRED = 'account_retired';

/** The error for a key whose account was retired: clients refuse its later anchors. */
export function retiredError({
  address,
  lastBlock,
}: Pick<AnchoringAccount, 'address' | 'lastBlock'>): SvcError {
  const message = `The anchoring account ${address} was retired after block ${lastBlock}.`;
  return new SvcError(RETIRED, message, { hint: 'Configure another key.' });
}

/**
 * Adds the account to the list at its first use, with its key's signature of what never changes. Resolves with false if
 * the store fails: anchoring goes on, and the caller tries again. Throws `account_retired`: another instance may have
 * retired the account since the start.
 */
export async function listAccount(context: AnchoringContext, head: bigint): Promise<boolean> {
  const { store, key, lease, origin, logger } = context;
  const { chainId, sender: address } = lease;
  try {
    const accounts = await store.listAnchoringAccounts();
    const known = accounts.find((one) => one.chainId === chainId && one.address === address);
    if (known !== undefined && known.lastBlock !== null) throw retiredError(known);
    if (known !== undefined && (known.promiseKey !== null || key === null)) return true;
    // A restored database may know anchors of the account that are older than its entry.
    const [oldest] = await store.listMinedFrom(lease, 0, 1);
    const firstBlock =
      oldest !== undefined && oldest.blockNumber < head ? oldest.blockNumber : head;
    const entry = { chain_id: chainId, address, first_block: String(firstBlock) };
    const signature = (await key?.signText(accountText(origin, entry))) ?? null;
    const signedFor = signature === null ? null : origin;
    const promiseKey = key?.promiseKey.publicKey ?? null;
    await store.addAnchoringAccount({
      chainId,
      address,
      firstBlock,
      signature,
      origin: signedFor,
      promiseKey,
    });
    return true;
  } catch (err) {
    if (err instanceof SvcError && err.code === RETIRED) throw err;
    logger.warn({ err, sender: address }, 'failed to list anchoring account; retrying');
    return false;
  }
}
