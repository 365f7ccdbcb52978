// The store's contract for completions.
import type { Hex } from '../../proof/bytes.ts';
import type { TaskOutcome } from '../../protocol/resources.ts';
import type { TaskRecord } from './tasks.ts';

export interface NewCompletion {
  taskId: string;
  robotId: string;
  /** SHA-256 of the API key of the call; see `RobotCaller`. */
  keyHash: string;
  /** Canonical JSON of the evidence. */
  proof: string;
  proofHash: Hex;
  claimHash: Hex;
  leaf: Hex;
  /** Of the statement in the leaf; null without one. */
  statementHash: Hex | null;
  outcome: TaskOutcome | null;
  now: number;
}

export type QueueOutcome =
  | { outcome: 'queued' }
  | { outcome: 'already_completed' | 'completion_in_progress'; task: TaskRecord }
  | {
      outcome:
        | 'not_found'
        | 'key_revoked'
        /** The robot signs its work, and the completion has no statement. */
        | 'statement_required'
        | 'no_anchor_quota'
        | 'no_gas_credit'
        /** The chain was never reached, so the reservation cannot be computed. */
        | 'no_fee_quote';
    };

export interface CompletionStore {
  /**
   * Step 1 of anchoring: stores the proof, reserves one anchor and the gas of a single (`reservation` in
   * rules/credits.ts, from the last fee quote), writes the ledger and queues the leaf, in one commit. A completion that
   * failed before is retried under the next cycle. Checks in this order: key (`key_revoked`), statement, task, state,
   * anchor quota, gas credit.
   */
  queueCompletion(completion: NewCompletion): Promise<QueueOutcome>;
  /**
   * Resolves when each completion is included, finalized or failed, or its task is deleted, or when the signal aborts; an
   * abort does not reject.
   */
  waitForCompletions(taskIds: readonly string[], signal: AbortSignal): Promise<void>;
}
