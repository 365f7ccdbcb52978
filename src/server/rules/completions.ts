// Decides whether a completion may reserve credit and join the queue.
import type { FeeQuote } from '../ports/anchoring.ts';
import type { QueueOutcome } from '../ports/completions.ts';
import type { CompletionState, TaskRecord } from '../ports/tasks.ts';
import { type Credits, decidePayment } from './credits.ts';

interface TaskState {
  status: TaskRecord['status'];
  /** State of its completion; null before the first. */
  state: CompletionState | null;
}

/** The rows that a store reads before it queues a completion. */
export interface CompletionSituation<Task extends TaskState> {
  /** Whether the robot still has the key of the call. */
  hasKey: boolean;
  /** Whether the robot signs its work, and the completion has no statement. */
  lacksStatement: boolean;
  /** Null: the robot does not have the task. */
  task: Task | null;
  balance: Credits | null;
  quote: FeeQuote | null;
}

type CompletionDecision<Task extends TaskState> =
  /** The completion reserves one anchor and `gasWei` of gas credit. */
  | { outcome: 'queued'; task: Task; gasWei: bigint }
  | { outcome: 'already_completed' | 'completion_in_progress'; task: Task }
  | { outcome: Exclude<QueueOutcome, { task: unknown } | { outcome: 'queued' }>['outcome'] };

/** Checks in this order: key, statement, task, state, anchor quota, fee quote, gas credit. */
export function decideCompletion<Task extends TaskState>(
  situation: CompletionSituation<Task>,
): CompletionDecision<Task> {
  const { hasKey, lacksStatement, task, balance, quote } = situation;
  if (!hasKey) return { outcome: 'key_revoked' };
  if (lacksStatement) return { outcome: 'statement_required' };
  if (task === null) return { outcome: 'not_found' };
  if (task.status === 'verified') return { outcome: 'already_completed', task };
  const isOpen = task.state !== null && task.state !== 'failed';
  if (isOpen) return { outcome: 'completion_in_progress', task };
  const payment = decidePayment(balance, quote);
  return payment.outcome === 'paid' ? { ...payment, outcome: 'queued', task } : payment;
}
