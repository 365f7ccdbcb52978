// Decides before signing whether the chain would accept a transaction now.
import { SvcError } from '../../base/svc-error.ts';
import type { AnchorKey } from '../../chain/anchor-key.ts';
import type { AnchorChain } from '../../chain/chain.ts';
import type { RefusalMeaning } from '../../chain/errors.ts';
import type { SenderState } from '../../chain/sender-state.ts';
import type { ChainIdentity } from '../ports/anchoring.ts';
import { maxFeePerGas } from '../rules/credits.ts';
import { dearestSingle } from './batch.ts';
import type { AnchoringContext, Hold } from './context.ts';
import type { LiveAttempts } from './open-attempts.ts';

export interface PreflightTerms {
  /** The store's next nonce; null when this sender never had one here. */
  readonly nextNonce: number | null;
  /** Lowest nonce of ours that is in no block, the next one included; null as above. */
  readonly lowestUnmined: number | null;
  /** Whether the first nonce may rest on the sender's count. */
  readonly isCountSettled: boolean;
  /** Sum of what the transactions in flight may cost per gas. */
  readonly feesInFlight: bigint;
  /** Highest fee per gas that may be signed, in wei. */
  readonly maxFeePerGas: bigint;
}

export type Decision =
  | {
      readonly decision: 'sign';
      readonly nonce: number;
      readonly gas: bigint;
      readonly maxFeePerGas: bigint;
      readonly maxPriorityFeePerGas: bigint;
    }
  /** Passes by itself or by the operator's hand: proofs stay queued. */
  | { readonly decision: 'wait'; readonly reason: Hold }
  /** By this node's word it would fail at every price and on every node. */
  | { readonly decision: 'refuse'; readonly meaning: RefusalMeaning; readonly reason: string };

/** Step 2 of anchoring: whether a payload may be signed now, and at which nonce, gas and fees. */
export function preflight(senderState: SenderState, terms: PreflightTerms): Decision {
  const standing = standingOf(senderState, terms);
  if (standing !== null) return { decision: 'wait', reason: standing };
  if (senderState.gas.outcome === 'underfunded') return { decision: 'wait', reason: 'underfunded' };
  if (senderState.gas.outcome === 'refused') {
    const { meaning, reason } = senderState.gas;
    return { decision: 'refuse', meaning, reason };
  }
  const { baseFeePerGas, maxPriorityFeePerGas } = senderState;
  if (baseFeePerGas + maxPriorityFeePerGas > terms.maxFeePerGas) {
    return { decision: 'wait', reason: 'fee_cap' };
  }
  let fee = maxFeePerGas(senderState);
  if (fee > terms.maxFeePerGas) fee = terms.maxFeePerGas;
  const gas = withMargin(senderState.gas);
  if (gas * (fee + terms.feesInFlight) + senderState.dataFeeWei > senderState.balance) {
    return { decision: 'wait', reason: 'underfunded' };
  }
  return {
    decision: 'sign',
    nonce: terms.nextNonce ?? senderState.latestNonce,
    gas,
    maxFeePerGas: fee,
    maxPriorityFeePerGas,
  };
}

function standingOf(senderState: SenderState, terms: PreflightTerms): Hold | null {
  if (senderState.hasCode) return 'sender_has_code';
  if (terms.nextNonce === null) {
    if (senderState.pendingNonce > senderState.latestNonce) return 'sender_busy';
    return terms.isCountSettled ? null : 'first_nonce';
  }
  if (senderState.latestNonce > terms.nextNonce) return 'nonce_conflict';
  // What is signed into a gap could not be mined, and would go out once the gap is filled.
  const isBehind = terms.lowestUnmined !== null && senderState.latestNonce < terms.lowestUnmined;
  return isBehind ? 'nonce_behind' : null;
}

/** Where gas depends on the state of an L2, an exact limit would run out; unused gas costs nothing. */
function withMargin({ gas, most }: { gas: bigint; most: bigint }): bigint {
  const ample = gas + gas / 4n;
  return ample < most ? ample : most;
}

/**
 * Whether the sender's count may become its first nonce: seen twice, the second time at a later head, or
 * for long where blocks are made on demand. All later nonces rest on it, so one lie must not decide it.
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
 * An account with code, a delegated one too (EIP-7702), can make its anchors fail or send transactions of its own.
 * Rejects with SvcError `sender_has_code`, or as `senderState` does.
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
        hint: 'Anchor with a plain account, and do not delegate it (EIP-7702).',
      });
    }),
  );
}

export interface Refusals {
  /** Whether the last survey of the dearest single was refused. */
  readonly any: boolean;
  /** What the dearest single was refused for, at two heads in a row; null: no refusal stands. */
  readonly standing: RefusalMeaning | null;
  /** Call with every survey of the dearest single. */
  note(senderState: SenderState): void;
}

/**
 * Follows whether the chain would refuse any anchor at all. A payload is calldata to an account without
 * code, so what the dearest single passes no other payload can fail by itself; and what one answer of
 * one node says, a later head may not.
 */
export function createRefusals(): Refusals {
  let first: { meaning: RefusalMeaning; headNumber: bigint } | null = null;
  let standing: RefusalMeaning | null = null;
  return {
    get any() {
      return first !== null;
    },
    get standing() {
      return standing;
    },
    note({ gas, headNumber }) {
      const meaning = gas.outcome === 'refused' ? gas.meaning : null;
      if (meaning === null || meaning !== first?.meaning) {
        first = meaning === null ? null : { meaning, headNumber };
        standing = null;
      } else if (headNumber > first.headNumber) {
        standing = meaning;
      }
    },
  };
}
