import type { RefusalMeaning } from '../../chain/errors.ts';
import type { Survey } from '../../chain/survey.ts';
import { maxFeePerGas } from '../core/money.ts';
import type { Hold } from './anchoring-context.ts';

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
export function preflight(survey: Survey, terms: PreflightTerms): Decision {
  const standing = standingOf(survey, terms);
  if (standing !== null) return { decision: 'wait', reason: standing };
  if (survey.gas.outcome === 'underfunded') return { decision: 'wait', reason: 'underfunded' };
  if (survey.gas.outcome === 'refused') {
    const { meaning, reason } = survey.gas;
    return { decision: 'refuse', meaning, reason };
  }
  const { baseFeePerGas, maxPriorityFeePerGas } = survey;
  if (baseFeePerGas + maxPriorityFeePerGas > terms.maxFeePerGas) {
    return { decision: 'wait', reason: 'fee_cap' };
  }
  let fee = maxFeePerGas(survey);
  if (fee > terms.maxFeePerGas) fee = terms.maxFeePerGas;
  const gas = withMargin(survey.gas);
  if (gas * (fee + terms.feesInFlight) + survey.dataFeeWei > survey.balance) {
    return { decision: 'wait', reason: 'underfunded' };
  }
  return {
    decision: 'sign',
    nonce: terms.nextNonce ?? survey.latestNonce,
    gas,
    maxFeePerGas: fee,
    maxPriorityFeePerGas,
  };
}

function standingOf(survey: Survey, terms: PreflightTerms): Hold | null {
  if (survey.hasCode) return 'sender_has_code';
  if (terms.nextNonce === null) {
    if (survey.pendingNonce > survey.latestNonce) return 'sender_busy';
    return terms.isCountSettled ? null : 'first_nonce';
  }
  if (survey.latestNonce > terms.nextNonce) return 'nonce_conflict';
  // What is signed into a gap could not be mined, and would go out once the gap is filled.
  const isBehind = terms.lowestUnmined !== null && survey.latestNonce < terms.lowestUnmined;
  return isBehind ? 'nonce_behind' : null;
}

/** Where gas depends on the state of an L2, an exact limit would run out; unused gas costs nothing. */
function withMargin({ gas, most }: { gas: bigint; most: bigint }): bigint {
  const ample = gas + gas / 4n;
  return ample < most ? ample : most;
}
