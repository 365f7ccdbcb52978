// Decides what a completion may do: reserve credit and join the queue, or why not.
import type { FeeQuote } from '../ports/anchoring.ts';
import type { QueueOutcome } from '../ports/completions.ts';
import type { CompletionState, TaskRecord } from '../ports/tasks.ts';
import { reservation } from './credits.ts';

interface TaskState {
  status: TaskRecord['status'];
  /** Of its completion; null before the first. */
  state: CompletionState | null;
}

/** What a store reads before it queues a completion. */
export interface CompletionSituation<Task extends TaskState> {
  /** The robot still has the key that the call came with. */
  hasKey: boolean;
  /** Null: the robot has no such task. */
  task: Task | null;
  /** Null: the account does not exist. */
  balance: { anchorQuota: number; gasCreditWei: bigint } | null;
  /** Null: the chain was never reached. */
  quote: FeeQuote | null;
}

export type CompletionDecision<Task extends TaskState> =
  /** The completion reserves one anchor and `gasWei` of gas credit. */
  | { outcome: 'queued'; task: Task; gasWei: bigint }
  | { outcome: 'already_completed' | 'completion_in_progress'; task: Task }
  | { outcome: Exclude<QueueOutcome, { task: unknown } | { outcome: 'queued' }>['outcome'] };

/** Checks in this order: key, task, state, anchor quota, fee quote, gas credit. */
export function decideCompletion<Task extends TaskState>(
  situation: CompletionSituation<Task>,
): CompletionDecision<Task> {
  const { hasKey, task, balance, quote } = situation;
  if (!hasKey) return { outcome: 'key_revoked' };
  if (task === null) return { outcome: 'not_found' };
  if (task.status === 'verified') return { outcome: 'already_completed', task };
  const isOpen = task.state !== null && task.state !== 'failed';
  if (isOpen) return { outcome: 'completion_in_progress', task };
  if (balance === null || balance.anchorQuota < 1) return { outcome: 'no_anchor_quota' };
  if (quote === null) return { outcome: 'no_fee_quote' };
  const gasWei = reservation(quote);
  if (balance.gasCreditWei < gasWei) return { outcome: 'no_gas_credit' };
  return { outcome: 'queued', task, gasWei };
}

/**
 * Whether forgetting the task returns what its completion reserved. A verified task is paid for, even while it waits
 * to be anchored again; a signed one is charged when it is mined.
 */
export function returnsReservation({ status, state }: TaskState): boolean {
  return status === 'claimed' && state === 'queued';
}
