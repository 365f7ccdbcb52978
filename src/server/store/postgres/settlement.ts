// Stores settlement: charges, receipts and verified tasks (step 6), and attempts with a replaced nonce.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Hex } from '../../../proof/bytes.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { moveAttempts } from '../anchor-attempts.ts';
import { chargesOf, settleEntry } from '../rows/account.ts';
import { inclusionPaths, type PathOf } from '../rows/anchoring.ts';
import { completionTopic, QUEUE_TOPIC } from '../topics.ts';
import { queueVerified } from '../webhooks.ts';
import {
  lockReserving,
  postEntries,
  releaseReservations,
  reservationOf,
  reservationsOf,
} from './account.ts';
import type { Queries } from './engine/connections.ts';
import type { Notifications } from './engine/notifications.ts';
import { sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import type { Access } from './engine/transactions.ts';
import { leasedAccess } from './leases.ts';
import { countAnchors } from './stats.ts';

interface IncludedRow {
  leaf_count: number;
  unsettled_leaves: number;
  cost_wei: string;
}

interface LeafRow {
  leaf_index: number;
  task_id: string;
  charged: boolean;
}

/** Waiting requests woken per turn of the event loop. Each reads and sends its response in that turn. */
const WAKES_PER_TURN = 16;

const leavesOf = sql('SELECT leaf FROM leaves WHERE attempt_id = $1 ORDER BY leaf_index');
const included = sql('SELECT leaf_count, unsettled_leaves, cost_wei FROM attempts WHERE id = $1');
const unsettled = sql(`SELECT leaf_index, task_id, EXISTS (SELECT FROM ledger
      WHERE ledger.task_id = leaves.task_id AND kind = 'settle') AS charged
  FROM leaves WHERE attempt_id = $1 AND settled_at IS NULL ORDER BY leaf_index LIMIT $2`);
const lockTasks = sql(`SELECT FROM tasks t JOIN completions c ON c.task_id = t.id
  WHERE t.id = ANY($1::uuid[]) ORDER BY t.id FOR NO KEY UPDATE`);
// Locked in order of robots, because the trigger on tasks would lock them in the order of its rows.
const lockCounts = sql(`SELECT FROM task_counts
  WHERE robot_id IN (SELECT robot_id FROM tasks WHERE id = ANY($1::uuid[]))
  ORDER BY robot_id FOR NO KEY UPDATE`);
const { to, from } = completionMove('settle');
// A deleted task gets no receipt.
const verify = sql(`WITH
  settled AS (
    UPDATE leaves l SET settled_at = $4, path = s.path
    FROM unnest($2::integer[], $3::text[]) AS s (leaf_index, path)
    WHERE l.attempt_id = $1 AND l.leaf_index = s.leaf_index
    RETURNING l.task_id, l.leaf_index
  ),
  receipted AS (
    INSERT INTO receipts (task_id, proof_hash, attempt_id, leaf_index)
    SELECT task_id, c.proof_hash, $1, s.leaf_index FROM settled s JOIN completions c USING (task_id)
    ORDER BY s.leaf_index
    ON CONFLICT (task_id) DO UPDATE
      SET attempt_id = excluded.attempt_id, leaf_index = excluded.leaf_index
    RETURNING true
  ),
  completed AS (
    UPDATE completions SET updated_at = $4, state = ${to}
    WHERE task_id IN (SELECT task_id FROM settled) AND state IN ${from}
    RETURNING true
  ),
  verified AS (
    UPDATE tasks SET status = 'verified' WHERE id IN (SELECT task_id FROM settled)
  ),
  counted AS (
    UPDATE attempts SET updated_at = $4,
      unsettled_leaves = unsettled_leaves - (SELECT count(*) FROM settled)
    WHERE id = $1
  )
  SELECT (SELECT count(*) FROM receipted) AS receipts, (SELECT count(*) FROM completed) AS completed`);

const endLeaves = sql('UPDATE leaves SET live = false WHERE attempt_id = $1 RETURNING task_id');
const lockCompletions = sql(`SELECT FROM tasks t JOIN completions c ON c.task_id = t.id
  WHERE t.id = ANY($1::uuid[]) ORDER BY t.id FOR NO KEY UPDATE`);
const requeueMove = completionMove('requeue');
const requeue = sql(`UPDATE completions
  SET state = ${requeueMove.to}, generation = generation + 1, updated_at = $2, offered_to = NULL, offered_until = 0
  WHERE task_id = ANY($1::uuid[]) AND state IN ${requeueMove.from}`);
// Deleted tasks that were never charged get their reservation back.
const findAbandoned = sql(`SELECT ended.task_id FROM unnest($1::uuid[]) AS ended (task_id)
  WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.id = ended.task_id)
    AND NOT EXISTS (SELECT FROM ledger s WHERE s.task_id = ended.task_id AND s.kind = 'settle')`);

/** Step 6 of anchoring: charge, receipt and `verified`, for many leaves in one commit. */
export function settlementStore(
  access: Access,
  notifications: Notifications,
): Pick<AnchorStore, 'settleLeaves'> {
  const leased = leasedAccess(access);
  const paths = inclusionPaths(async (attemptId) => {
    const rows = await access.rows<{ leaf: Hex }>(leavesOf, [attemptId]);
    return rows.map(({ leaf }) => leaf);
  });

  return {
    async settleLeaves(lease, attemptId, limit, now) {
      const pathOf = await paths.of(attemptId);
      const { taskIds, left } = await leased.write(lease, async (tx) => {
        await runSteps(tx, moveAttempts(lease, [attemptId], 'settle', now));
        const attempt = await tx.first<IncludedRow>(included, [attemptId]);
        if (attempt === undefined) throw new Error('The attempt does not exist');
        const leaves = await tx.rows<LeafRow>(unsettled, [attemptId, limit]);
        if (leaves.length > 0) {
          await charge(tx, attempt, leaves, now);
          await settle(tx, attemptId, { leaves, pathOf, now });
        }
        return {
          taskIds: leaves.map(({ task_id }) => task_id),
          left: attempt.unsettled_leaves - leaves.length,
        };
      });
      if (left === 0) paths.forget(attemptId);
      for (let i = 0; i < taskIds.length; i += WAKES_PER_TURN) {
        notifications.tell(taskIds.slice(i, i + WAKES_PER_TURN).map(completionTopic));
        await nextTurn();
      }
      return left;
    },
  };
}

/** Ends an attempt whose nonce another transaction used, and queues its proofs again. */
export function replacedNonceStore(
  access: Access,
  notifications: Notifications,
): Pick<AnchorStore, 'recordReplacedNonce'> {
  const leased = leasedAccess(access);
  return {
    async recordReplacedNonce(lease, attemptId, now) {
      await leased.write(lease, async (tx) => {
        await runSteps(tx, moveAttempts(lease, [attemptId], 'die', now));
        const ended = await tx.rows<{ task_id: string }>(endLeaves, [attemptId]);
        const taskIds = ended.map(({ task_id }) => task_id);
        await lockReserving(tx, taskIds);
        await queueAgain(tx, taskIds, now);
        const abandoned = await tx.rows<{ task_id: string }>(findAbandoned, [taskIds]);
        await releaseReservations(
          tx,
          abandoned.map(({ task_id }) => task_id),
          now,
        );
      });
      notifications.tell([QUEUE_TOPIC]);
    },
  };
}

/** Charges each task once, at its first settlement. Anchoring it again after a reorganization is free. */
async function charge(
  tx: Queries,
  attempt: IncludedRow,
  leaves: readonly LeafRow[],
  at: number,
): Promise<void> {
  const due = leaves.filter(({ charged }) => !charged);
  if (due.length === 0) return;
  // Read from the ledger, because the task may be deleted.
  const reservations = await reservationsOf(
    tx,
    due.map(({ task_id }) => task_id),
  );
  const charges = chargesOf(attempt, due, (taskId) => reservationOf(reservations, taskId));
  await postEntries(
    tx,
    charges.map((charge) => settleEntry(charge, at)),
  );
  await countAnchors(tx, charges, at);
}

/** Stores receipt, path and state of the leaves. Locks the tasks by id, then the task counts by robot. */
async function settle(
  tx: Queries,
  attemptId: string,
  { leaves, pathOf, now }: { leaves: readonly LeafRow[]; pathOf: PathOf; now: number },
): Promise<void> {
  const taskIds = leaves.map(({ task_id }) => task_id);
  await tx.rows(lockTasks, [taskIds]);
  await tx.rows(lockCounts, [taskIds]);
  const places = leaves.map(({ leaf_index }) => leaf_index);
  await runSteps(tx, queueVerified(attemptId, [places[0] ?? 0, places.at(-1) ?? 0], now));
  const written = await tx.first<{ receipts: number; completed: number }>(verify, [
    attemptId,
    places,
    leaves.map(({ leaf_index }) => JSON.stringify(pathOf(leaf_index))),
    now,
  ]);
  if (written?.completed !== written?.receipts) {
    throw new Error('A leaf of the attempt has a completion in an unexpected state');
  }
}

/** Queues the completions of tasks that still exist, in their next generation. */
async function queueAgain(tx: Queries, taskIds: readonly string[], now: number): Promise<void> {
  const waiting = await tx.rows(lockCompletions, [taskIds]);
  if ((await tx.run(requeue, [taskIds, now])) !== waiting.length) {
    throw new Error('A leaf of the attempt has a completion in an unexpected state');
  }
}
