import { v7 as uuidv7 } from 'uuid';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { NewAttempt, QueuedProof } from '../core/anchor-store.ts';
import type { AnchoringContext, Degradation } from './anchoring-context.ts';
import { committedAttempt, type LiveAttempts, newestVariant, unmined } from './attempts.ts';
import { type Batch, batchOf } from './batch.ts';
import { offer } from './broadcast.ts';
import { type Decision, preflight } from './preflight.ts';

export type Submission =
  | { readonly outcome: 'submitted' | 'refused' | 'leaf_gone' }
  | { readonly outcome: 'held'; readonly reason: Degradation };

/**
 * Steps 2 to 4 for the proofs at the head of the queue: preflight, sign, commit, broadcast.
 * `leaf_gone`: one of them was cancelled meanwhile, nothing was written, the queue is to be read anew.
 */
export async function submit(
  context: AnchoringContext,
  live: LiveAttempts,
  queued: readonly QueuedProof[],
): Promise<Submission> {
  const batch = batchOf(queued);
  const decision = await decide(context, live, batch.payload);
  if (decision.decision === 'wait') return { outcome: 'held', reason: decision.reason };
  if (decision.decision === 'refuse') {
    await refuse(context, queued, decision.reason);
    return { outcome: 'refused' };
  }
  const attempt = await sign(context, batch, decision);
  await context.onStep?.('attempt_signed');
  try {
    await context.store.commitAttempt(context.lease, attempt);
  } catch (error) {
    if (error instanceof SvcError && error.code === 'leaf_gone') return { outcome: 'leaf_gone' };
    throw error;
  }
  const committed = committedAttempt(attempt);
  live.attempts.push(committed);
  live.nextNonce = attempt.nonce + 1;
  await context.onStep?.('attempt_committed');
  await offer(context, committed);
  return { outcome: 'submitted' };
}

async function decide(
  context: AnchoringContext,
  live: LiveAttempts,
  payload: Hex,
): Promise<Decision> {
  const { chain, key, identity, options, signal } = context;
  const survey = await chain.survey({ identity, sender: key.address, payload }, signal);
  return preflight(survey, {
    nextNonce: live.nextNonce,
    feesInFlight: feesInFlight(live),
    maxFeePerGas: options.maxFeePerGas,
  });
}

export function feesInFlight(live: LiveAttempts): bigint {
  return unmined(live).reduce((sum, attempt) => sum + newestVariant(attempt).maxFeePerGas, 0n);
}

async function refuse(
  { store, lease, clock, logger }: AnchoringContext,
  queued: readonly QueuedProof[],
  reason: string,
): Promise<void> {
  const taskIds = queued.map(({ taskId }) => taskId);
  logger.error({ proofs: taskIds.length, reason }, 'the chain refuses the anchor; released');
  await store.refuseQueuedProofs(lease, taskIds, reason, clock.now());
}

async function sign(
  { key, lease, clock }: AnchoringContext,
  batch: Batch,
  terms: Extract<Decision, { decision: 'sign' }>,
): Promise<NewAttempt> {
  const { nonce, gas, maxFeePerGas, maxPriorityFeePerGas } = terms;
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
    id: uuidv7(),
    nonce,
    variant: { ...signed, maxFeePerGas, maxPriorityFeePerGas },
    now: clock.now(),
  };
}
