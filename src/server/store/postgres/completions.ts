// Stores completions: queues a task's proof, and reserves its credits, in one statement.

import type { CompletionStore, NewCompletion, QueueOutcome } from '../../ports/completions.ts';
import { storageUnavailable } from '../../ports/errors.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lacksCredit } from '../../rules/credits.ts';
import { proofBytes } from '../../rules/storage.ts';
import { refuseForCredit } from '../alerts.ts';
import { raw, sql } from '../db/sql.ts';
import { newProofKey, sealProof } from '../evidence.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { decideFor, findTask, type SituationRow } from '../tasks.ts';
import { QUEUE_TOPIC } from '../topics.ts';
import type { PostgresDb } from './engine/database.ts';

const again = completionMove('try_again');

/** Tries to queue a completion, each after a concurrent change. */
const ATTEMPTS = 5;

export function completionStore(db: PostgresDb, usage: StorageUsage) {
  return {
    async queueCompletion(completion) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const outcome = await decideAndQueue(db, usage, completion);
        if (outcome?.outcome === 'queued') db.wake([QUEUE_TOPIC]);
        if (outcome !== null) return outcome;
      }
      throw storageUnavailable('Too many concurrent updates. Retry.');
    },
  } satisfies Partial<CompletionStore>;
}

/** Decides and queues. `null` if the data changed between the decision and the write. */
async function decideAndQueue(
  db: PostgresDb,
  usage: StorageUsage,
  completion: NewCompletion,
): Promise<QueueOutcome | null> {
  const { taskId, now } = completion;
  const { decision, wasRefused } = await db.alone((tx) => decideFor(tx, completion));
  if (lacksCredit(decision) && !wasRefused) {
    const { outcome } = decision;
    await db.write((tx) => refuseForCredit(tx, taskId, outcome, now));
  }
  if (!('task' in decision)) return decision;
  if (decision.outcome !== 'queued') return existingCompletion(db, taskId);
  const { row } = decision.task;
  const bytes = await reserveAndQueue(db, completion, row, decision.gasWei);
  if (bytes === null) return null;
  usage.add(row.wallet, bytes);
  return { outcome: 'queued' };
}

/**
 * Stores the proof in the account's next round of the queue, and reserves its credits, or writes nothing. Each part is
 * checked again under its lock. Locks account, robot, task, in this order. The ledger accepts one reservation per task
 * and cycle, so only one of several instances succeeds. Returns the bytes of the stored evidence.
 */
async function reserveAndQueue(
  { alone }: PostgresDb,
  completion: NewCompletion,
  { wallet, cycle: lastCycle }: SituationRow,
  gas: bigint,
): Promise<number | null> {
  const { taskId, robotId, keyHash, proof, proofHash, claimHash, leaf, now } = completion;
  const { statementHash, outcome } = completion;
  const [key, gasWei, cycle] = [newProofKey(), String(gas), (lastCycle ?? 0) + 1];
  const sealed = sealProof(proof, key);
  const queued = await alone((tx) =>
    tx.run(sql`WITH account AS (
        SELECT wallet FROM accounts
        WHERE wallet = ${wallet} AND anchor_quota >= 1 AND gas_credit_wei >= ${gasWei} FOR UPDATE
      ), robot AS (
        SELECT id FROM robots
        WHERE id = ${robotId} AND key_hash = ${keyHash} AND signs <= ${statementHash === null ? 0 : 1}
          AND EXISTS (SELECT FROM account) FOR UPDATE
      ), task AS (
        SELECT id FROM tasks
        WHERE id = ${taskId} AND robot_id = ${robotId} AND EXISTS (SELECT FROM robot)
        FOR KEY SHARE
      ), reserved AS (
        INSERT INTO ledger (wallet, kind, anchors, gas_wei, task_id, cycle, at)
        SELECT ${wallet}, 'reserve', -1, -${gasWei}::numeric, id, ${cycle}::integer, ${now}::bigint
        FROM task
        ON CONFLICT (task_id, cycle) WHERE kind = 'reserve' DO NOTHING
        RETURNING seq
      ), paid AS (
        UPDATE accounts SET anchor_quota = anchor_quota - 1,
          gas_credit_wei = gas_credit_wei - ${gasWei}::numeric,
          last_round = greatest(last_round + 1, (SELECT round FROM queue_round WHERE id = 1))
        WHERE wallet = ${wallet} AND EXISTS (SELECT FROM reserved) RETURNING last_round
      ), seen AS (
        UPDATE robots SET last_seen_at = ${now} WHERE id = ${robotId}
          AND EXISTS (SELECT FROM reserved) AND (last_seen_at IS NULL OR last_seen_at < ${now})
      ), kept AS (
        INSERT INTO proofs (task_id, key, sealed, stored_at)
        SELECT ${taskId}::uuid, ${key}::bytea, ${sealed}::bytea, ${now}::bigint FROM reserved
        ON CONFLICT (task_id) DO UPDATE SET
          key = excluded.key, sealed = excluded.sealed, stored_at = excluded.stored_at
      )
      INSERT INTO completions AS c (task_id, state, proof_hash, claim_hash, leaf, cycle, generation,
        reserve_seq, round, queued_at, updated_at, statement_hash, outcome)
      SELECT ${taskId}::uuid, ${raw(again.to)}, ${proofHash}, ${claimHash}, ${leaf},
        ${cycle}::integer, 0, seq, last_round, ${now}::bigint, ${now}::bigint,
        ${statementHash}, ${outcome} FROM reserved, paid
      ON CONFLICT (task_id) DO UPDATE SET state = excluded.state,
        proof_hash = excluded.proof_hash, claim_hash = excluded.claim_hash, leaf = excluded.leaf,
        cycle = excluded.cycle, generation = 0, reserve_seq = excluded.reserve_seq,
        round = excluded.round, queued_at = excluded.queued_at, updated_at = excluded.updated_at,
        failure = NULL, statement_hash = excluded.statement_hash, outcome = excluded.outcome,
        offered_to = NULL, offered_until = 0`),
  );
  return queued === 0 ? null : proofBytes(sealed);
}

/** The completion that prevents a new one. `null` if it failed or was deleted meanwhile. */
async function existingCompletion(
  { alone }: PostgresDb,
  taskId: string,
): Promise<QueueOutcome | null> {
  const task = await alone((tx) => findTask(tx, taskId));
  if (task?.status === 'verified') return { outcome: 'already_completed', task };
  if (task === null || task.completion === null || task.completion.state === 'failed') return null;
  return { outcome: 'completion_in_progress', task };
}
