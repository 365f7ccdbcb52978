// Stores completions: queues a task's proof, and reserves its credits.

import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import { storageUnavailable } from '../../ports/errors.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes } from '../../rules/storage.ts';
import { refuseForCredit } from '../alerts.ts';
import type { StepRunner } from '../engine/steps.ts';
import { newProofKey, sealProof } from '../rows/evidence.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { decideFor, findTask, QUEUE_TOPIC } from '../tasks.ts';
import { sql } from './engine/connections.ts';
import { runSteps } from './engine/run-steps.ts';
import type { Access } from './engine/transactions.ts';

/** Tries to queue a completion, each after a concurrent change. */
const ATTEMPTS = 5;

const again = completionMove('try_again');

// Stores the proof in the account's next round of the queue, and reserves its credits, or writes nothing. Each part is
// checked again under its lock. Locks account, robot, task, in this order. The ledger accepts one reservation per task
// and cycle, so only one of several instances succeeds.
const queue = sql(`WITH account AS (
    SELECT wallet FROM accounts WHERE wallet = $4 AND anchor_quota >= 1 AND gas_credit_wei >= $5
    FOR UPDATE
  ), robot AS (
    SELECT id FROM robots WHERE id = $1 AND key_hash = $2 AND EXISTS (SELECT FROM account)
    FOR UPDATE
  ), task AS (
    SELECT id FROM tasks WHERE id = $3 AND robot_id = $1 AND EXISTS (SELECT FROM robot)
    FOR KEY SHARE
  ), reserved AS (
    INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, at)
    SELECT $4, 'reserve', -1, -$5::numeric, id, $6::integer, $7::bigint FROM task
    ON CONFLICT (task_id, cycle) WHERE kind = 'reserve' DO NOTHING
    RETURNING seq
  ), paid AS (
    UPDATE accounts SET anchor_quota = anchor_quota - 1, gas_credit_wei = gas_credit_wei - $5,
      last_round = greatest(last_round + 1, (SELECT round FROM queue_round WHERE id = 1))
    WHERE wallet = $4 AND EXISTS (SELECT FROM reserved) RETURNING last_round
  ), seen AS (
    UPDATE robots SET last_seen_at = $7
    WHERE id = $1 AND EXISTS (SELECT FROM reserved) AND (last_seen_at IS NULL OR last_seen_at < $7)
  ), kept AS (
    INSERT INTO proofs (task_id, key, sealed, stored_at)
    SELECT $3::uuid, $8::bytea, $9::bytea, $7 FROM reserved
    ON CONFLICT (task_id) DO UPDATE SET
      key = excluded.key, sealed = excluded.sealed, stored_at = excluded.stored_at
  )
  INSERT INTO completions AS c (task_id, state, proof_hash, claim_hash, leaf, cycle, generation,
    reserve_seq, round, queued_at, updated_at)
  SELECT $3, ${again.to}, $10, $11, $12, $6, 0, seq, last_round, $7, $7 FROM reserved, paid
  ON CONFLICT (task_id) DO UPDATE SET state = excluded.state, proof_hash = excluded.proof_hash,
    claim_hash = excluded.claim_hash, leaf = excluded.leaf, cycle = excluded.cycle, generation = 0,
    reserve_seq = excluded.reserve_seq, round = excluded.round, queued_at = excluded.queued_at,
    updated_at = excluded.updated_at, failure = NULL, offered_to = NULL, offered_until = 0`);

export function completionStore(access: Access, usage: StorageUsage, { wake }: StepRunner) {
  return {
    async queueCompletion(completion) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const outcome = await decide(access, usage, completion);
        if (outcome?.outcome === 'queued') wake([QUEUE_TOPIC]);
        if (outcome !== null) return outcome;
      }
      throw storageUnavailable('Too many concurrent updates. Retry.');
    },
  } satisfies Partial<CompletionStore>;
}

/** Decides and queues. `null` if the data changed between the decision and the write. */
async function decide(
  access: Access,
  usage: StorageUsage,
  completion: NewCompletion,
): Promise<QueueOutcome | null> {
  const { taskId, robotId, keyHash, proofHash, claimHash, leaf, now } = completion;
  const { decision, wasRefused } = await runSteps(access, decideFor(completion));
  if (lacksCredit(decision) && !wasRefused) {
    const { outcome } = decision;
    await access.write((tx) => runSteps(tx, refuseForCredit(taskId, outcome, now)));
  }
  if (!('task' in decision)) return decision;
  if (decision.outcome !== 'queued') return existingCompletion(access, taskId);
  const { wallet, cycle } = decision.task.row;
  const key = newProofKey();
  const sealed = sealProof(completion.proof, key);
  const reservation = [wallet, decision.gasWei, (cycle ?? 0) + 1, now];
  const proof = [key, sealed, proofHash, claimHash, leaf];
  const queued = await access.run(queue, [robotId, keyHash, taskId, ...reservation, ...proof]);
  if (queued === 0) return null;
  usage.add(wallet, proofBytes(sealed));
  return { outcome: 'queued' };
}

/** The completion that prevents a new one. `null` if it failed or was deleted meanwhile. */
async function existingCompletion(access: Access, taskId: string): Promise<QueueOutcome | null> {
  const task = await runSteps(access, findTask(taskId));
  if (task?.status === 'verified') return { outcome: 'already_completed', task };
  if (task === null || task.completion === null || task.completion.state === 'failed') return null;
  return { outcome: 'completion_in_progress', task };
}
