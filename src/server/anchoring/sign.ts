// Signs a batch and stores its bytes before any node sees them.
import { v7 as newId } from 'uuid';
import { SvcError } from '../../base/svc-error.ts';
import type { RefusalMeaning } from '../../chain/errors.ts';
import type { AnchorKey } from '../../chain/keys/anchor-key.ts';
import type { IdleReading, SenderState } from '../../chain/sender-state.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { NewAttempt, QueuedProof } from '../ports/anchoring.ts';
import { type Batch, batchOf, bytesOf } from './batch.ts';
import { type AnchoringContext, type Hold, readSenderState } from './context.ts';
import {
  committedAttempt,
  type LiveAttempts,
  lowestUnmined,
  newestVariant,
  unmined,
} from './open-attempts.ts';
import { type Decision, isCountSettled, neededWei, preflight } from './preflight.ts';

type Terms = Extract<Decision, { decision: 'sign' }> & Pick<SenderState, 'dataFeeWei'>;

type Submission =
  | { readonly outcome: 'submitted' | 'refused' | 'not_queued' }
  | { readonly outcome: 'held'; readonly reason: Hold };

/**
 * Steps 2 and 3 for the proofs at the head of the queue: preflight, sign, commit. The caller broadcasts next.
 *
 * `not_queued`: a leaf is gone, because another sender took the proof or an account deleted its free leaf. Read the queue
 * again, and pass false for `takesFreeLeaves`: otherwise an account that keeps deleting could stop all anchoring. If the
 * chain refuses the anchor, the proofs fail only when this refusal equals `confirmed`; until then they are held.
 */
export async function submit(
  context: AnchoringContext,
  live: LiveAttempts,
  queued: readonly QueuedProof[],
  confirmed: RefusalMeaning | null,
  takesFreeLeaves = true,
): Promise<Submission> {
  const free = takesFreeLeaves ? await freeLeaves(context, queued.length) : [];
  const batch = await batchOf(queued, free);
  const { decision, senderState } = await decide(context, live, batch.payload);
  if (decision.decision === 'wait') return { outcome: 'held', reason: decision.reason };
  if (decision.decision === 'refuse') {
    if (decision.meaning !== confirmed) return { outcome: 'held', reason: 'gas_refused' };
    const { store, lease, clock, logger, options } = context;
    const { reason } = decision;
    logger.error({ proofs: queued.length, reason }, 'chain refused anchor; released proofs');
    for (let i = 0; i < queued.length; i += options.leavesPerCommit) {
      const taskIds = queued.slice(i, i + options.leavesPerCommit).map(({ taskId }) => taskId);
      await store.failQueuedProofs(lease, taskIds, reason, clock.now());
    }
    return { outcome: 'refused' };
  }
  return commit(context, live, batch, { ...decision, dataFeeWei: senderState.dataFeeWei });
}

/** Read at once, so not too many to hold the event loop. */
const MOST_FREE_LEAVES = 4_096;

/** A lone proof has no tree, so it has no place for other leaves. */
function freeLeaves({ store, lease, options }: AnchoringContext, queued: number): Promise<Hex[]> {
  const places = queued < 2 ? 0 : Math.min(options.batchMax - queued, MOST_FREE_LEAVES);
  return places === 0 ? Promise.resolve([]) : store.listFreeLeaves(lease, places);
}

async function commit(
  context: AnchoringContext,
  live: LiveAttempts,
  batch: Batch,
  terms: Terms,
): Promise<Submission> {
  const { key, store, lease } = context;
  if (key === null) throw new Error('Nothing is signed without a key');
  const attempt = await sign(context, key, batch, terms);
  await context.onStep?.('attempt_signed');
  try {
    // Before the leaves are assigned, which would be for nothing.
    if (await exceedsCap(context, attempt)) return { outcome: 'held', reason: 'spend_cap' };
    attempt.assigned = await assign(context, attempt);
    await store.commitAttempt(lease, attempt);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    if (error.code === 'spend_cap') return { outcome: 'held', reason: 'spend_cap' };
    if (error.code === 'not_queued') return { outcome: 'not_queued' };
    throw error;
  }
  live.attempts.push(committedAttempt(attempt));
  live.nextNonce = attempt.nonce + 1;
  await context.onStep?.('attempt_committed');
  return { outcome: 'submitted' };
}

async function exceedsCap({ store }: AnchoringContext, { spend, now }: NewAttempt) {
  if (spend === null) return false;
  return (await store.readReservedSpend(now)) + spend.maxCostWei > spend.capWei;
}

/** Assigns all leaves but those of the last commit. Returns how many. */
async function assign({ store, lease, options, onStep }: AnchoringContext, attempt: NewAttempt) {
  const count = attempt.leaves.length + attempt.freeLeaves.length;
  let assigned = 0;
  while (count - assigned > options.leavesPerCommit) {
    const to = assigned + options.leavesPerCommit;
    await store.assignLeaves(lease, attempt, assigned, to);
    assigned = to;
    await onStep?.('leaves_assigned');
  }
  return assigned;
}

/** Reads the sender state for a payload, and decides whether it may be signed. */
export async function decide(
  context: AnchoringContext,
  live: LiveAttempts,
  payload: Hex,
  idle: IdleReading | null = null,
) {
  const { options } = context;
  const senderState = await readSenderState(context, payload, idle);
  const terms = {
    nextNonce: live.nextNonce,
    lowestUnmined: lowestUnmined(live),
    isCountSettled: isCountSettled(context, live, senderState),
    feesInFlight: feesInFlight(live),
    maxFeePerGas: options.maxFeePerGas,
    maxGas: options.maxGas,
    payloadBytes: bytesOf(payload),
  };
  live.neededWei = neededWei(senderState, terms);
  return { senderState, decision: preflight(senderState, terms) };
}

function feesInFlight(live: LiveAttempts): bigint {
  return unmined(live).reduce((sum, attempt) => sum + newestVariant(attempt).maxFeePerGas, 0n);
}

async function sign(
  { lease, clock, options }: AnchoringContext,
  key: AnchorKey,
  batch: Batch,
  terms: Terms,
): Promise<NewAttempt> {
  const { nonce, gas, maxFeePerGas, maxPriorityFeePerGas, dataFeeWei } = terms;
  const capWei = options.maxSpendWeiPerHour;
  const signed = await key.signTransaction({
    chainId: lease.chainId,
    nonce,
    payload: batch.payload,
    gas,
    maxFeePerGas,
    maxPriorityFeePerGas,
  });
  return {
    ...batch,
    id: newId(),
    assigned: 0,
    nonce,
    variant: { ...signed, maxFeePerGas, maxPriorityFeePerGas },
    spend: capWei === null ? null : { maxCostWei: gas * maxFeePerGas + dataFeeWei, capWei },
    now: clock.now(),
  };
}
