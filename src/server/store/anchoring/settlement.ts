// Stores settlement: charges, receipts and verified tasks (step 6), failed proofs, and attempts with a replaced nonce.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Hex } from '../../../proof/bytes.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { lockReserving, postEntries, releaseReservations, reservationsOf } from '../account.ts';
import { among, first, lockRows, rows, type StepRunner, type Steps } from '../engine/steps.ts';
import { chargesOf } from '../rows/account.ts';
import { inclusionPaths, type PathOf } from '../rows/anchoring.ts';
import { countAnchors } from '../stats.ts';
import { completionTopic, QUEUE_TOPIC } from '../tasks.ts';
import { queueFailed, queueVerified } from '../webhook-outbox.ts';
import { moveAttempts } from './anchor-attempts.ts';

/** Waiting requests woken per turn of the event loop. Each reads and sends its response in that turn. */
const WAKES_PER_TURN = 16;

const settle = completionMove('settle');
const requeue = completionMove('requeue');
const fail = completionMove('fail');

/** The unsettled leaves of the attempt `$1` from `$2` to `$3`. */
const THESE = `FROM leaves l WHERE l.attempt_id = $1
  AND l.leaf_index BETWEEN $2 AND $3 AND l.settled_at IS NULL`;

export const settlementSql = {
  leaves: 'SELECT leaf FROM leaves WHERE attempt_id = $1 ORDER BY leaf_index',
  attempt: 'SELECT leaf_count, unsettled_leaves, cost_wei FROM attempts WHERE id = $1',
  unsettled: `SELECT leaf_index, task_id, EXISTS (SELECT 1 FROM ledger
        WHERE ledger.task_id = leaves.task_id AND kind = 'settle') AS charged
    FROM leaves WHERE attempt_id = $1 AND settled_at IS NULL ORDER BY leaf_index LIMIT $2`,
  lockTasks: `SELECT c.task_id FROM tasks t JOIN completions c ON c.task_id = t.id
    WHERE t.id ${among('uuid', 1)} ORDER BY t.id FOR NO KEY UPDATE`,
  // Locked in order of robots, because the trigger on tasks would lock them in the order of its rows.
  lockCounts: `SELECT robot_id FROM task_counts
    WHERE robot_id IN (SELECT robot_id FROM tasks WHERE id ${among('uuid', 1)})
    ORDER BY robot_id FOR NO KEY UPDATE`,
  // A deleted task gets no receipt.
  giveReceipts: `INSERT INTO receipts (task_id, proof_hash, attempt_id, leaf_index)
    SELECT c.task_id, c.proof_hash, these.attempt_id, these.leaf_index
    FROM (SELECT l.* ${THESE}) AS these JOIN completions c ON c.task_id = these.task_id
    WHERE true ORDER BY these.leaf_index
    ON CONFLICT (task_id) DO UPDATE SET
      attempt_id = excluded.attempt_id, leaf_index = excluded.leaf_index
    RETURNING task_id`,
  complete: `UPDATE completions SET updated_at = $4, state = ${settle.to}
    WHERE task_id IN (SELECT l.task_id ${THESE}) AND state IN ${settle.from} RETURNING task_id`,
  verify: `UPDATE tasks SET status = 'verified' WHERE id IN (SELECT l.task_id ${THESE})`,
  // Each given leaf names its attempt: with `attempt_id = $1`, SQLite walks the list once for each leaf of the attempt.
  settleLeaves: `UPDATE leaves SET settled_at = $1, path = g.value ->> 2
    FROM json_array_elements($2::json) AS g
    WHERE attempt_id = (g.value ->> 0)::uuid AND leaf_index = (g.value ->> 1)::integer`,
  count: `UPDATE attempts SET unsettled_leaves = unsettled_leaves - $2, updated_at = $3
    WHERE id = $1`,
  endLeaves: 'UPDATE leaves SET live = false WHERE attempt_id = $1 RETURNING task_id',
  requeue: `UPDATE completions
    SET state = ${requeue.to}, generation = generation + 1, updated_at = $2
    WHERE task_id ${among('uuid', 1)} AND state IN ${requeue.from} RETURNING task_id`,
  charged: `SELECT task_id FROM ledger WHERE task_id ${among('uuid', 1)} AND kind = 'settle'`,
  lockFailing: `SELECT task_id FROM completions WHERE task_id ${among('uuid', 1)}
    ORDER BY task_id FOR NO KEY UPDATE`,
  // Only generation 0: a proof of a later generation was signed before, and a signed proof keeps its reservation.
  fail: `UPDATE completions SET state = ${fail.to}, failure = $2, updated_at = $3
    WHERE task_id ${among('uuid', 1)} AND state IN ${fail.from} AND generation = 0
    RETURNING task_id`,
} as const;

interface AttemptRow {
  leaf_count: number;
  unsettled_leaves: number;
  cost_wei: string;
}

interface LeafRow {
  leaf_index: number;
  task_id: string;
  charged: boolean | 0 | 1;
}

type TaskRow = { task_id: string };

export function settlementStore({ read, leased, endOffers, wake }: StepRunner) {
  const paths = inclusionPaths(async (attemptId) => {
    const leaves = await read(() => rows<{ leaf: Hex }>(settlementSql.leaves, attemptId));
    return leaves.map(({ leaf }) => leaf);
  });

  return {
    async settleLeaves(lease, attemptId, limit, now) {
      const pathOf = await paths.of(attemptId);
      const { taskIds, left } = await leased.write(lease, function* () {
        yield* moveAttempts(lease, [attemptId], 'settle', now);
        const attempt = yield* first<AttemptRow>(settlementSql.attempt, attemptId);
        if (attempt === undefined) throw new Error('The attempt does not exist');
        const leaves = yield* rows<LeafRow>(settlementSql.unsettled, attemptId, limit);
        yield* charge(attempt, leaves, now);
        yield* verify(attemptId, { leaves, pathOf, now });
        return {
          taskIds: leaves.map(({ task_id }) => task_id),
          left: attempt.unsettled_leaves - leaves.length,
        };
      });
      if (left === 0) paths.forget(attemptId);
      for (let i = 0; i < taskIds.length; i += WAKES_PER_TURN) {
        wake(taskIds.slice(i, i + WAKES_PER_TURN).map(completionTopic));
        await nextTurn();
      }
      return left;
    },

    async recordReplacedNonce(lease, attemptId, now) {
      await leased.write(lease, function* () {
        yield* moveAttempts(lease, [attemptId], 'die', now);
        const ended = yield* rows<TaskRow>(settlementSql.endLeaves, attemptId);
        const taskIds = ended.map(({ task_id }) => task_id);
        yield* lockReserving(taskIds);
        const gone = yield* queueAgain(taskIds, now);
        yield* endOffers(taskIds);
        // A deleted task that was never charged gets its reservation back.
        const charged = yield* rows<TaskRow>(settlementSql.charged, JSON.stringify(gone));
        const kept = new Set(charged.map(({ task_id }) => task_id));
        yield* releaseReservations(
          gone.filter((taskId) => !kept.has(taskId)),
          now,
        );
      });
      wake([QUEUE_TOPIC]);
    },

    async failQueuedProofs(lease, taskIds, reason, now) {
      const moved = await leased.write(lease, function* () {
        yield* lockReserving(taskIds);
        const given = JSON.stringify(taskIds);
        yield* lockRows(settlementSql.lockFailing, given);
        const failed = yield* rows<TaskRow>(settlementSql.fail, given, reason, now);
        const ids = failed.map(({ task_id }) => task_id);
        yield* releaseReservations(ids, now);
        yield* queueFailed(ids, reason, now);
        return ids;
      });
      wake(moved.map(completionTopic));
    },
  } satisfies Partial<AnchorStore>;
}

/** Charges each task once, at its first settlement. Anchoring it again after a reorganization is free. */
function* charge(attempt: AttemptRow, leaves: readonly LeafRow[], at: number): Steps<void> {
  const due = leaves.filter(({ charged }) => !charged);
  if (due.length === 0) return;
  // Read from the ledger, because the task may be deleted.
  const reservationOf = yield* reservationsOf(due.map(({ task_id }) => task_id));
  const charges = chargesOf(attempt, due, reservationOf);
  yield* postEntries(
    charges.map(({ chargeWei: _, ...charge }) => ({ kind: 'settle', anchors: 0, ...charge, at })),
  );
  yield* countAnchors(charges, at);
}

/** Stores receipt, path and state of consecutive unsettled leaves. Locks the tasks by id, then the counts by robot. */
function* verify(
  attemptId: string,
  { leaves, pathOf, now }: { leaves: readonly LeafRow[]; pathOf: PathOf; now: number },
): Steps<void> {
  const [lowest, highest] = [leaves[0], leaves.at(-1)];
  if (lowest === undefined || highest === undefined) return;
  const taskIds = JSON.stringify(leaves.map(({ task_id }) => task_id));
  yield* lockRows(settlementSql.lockTasks, taskIds);
  yield* lockRows(settlementSql.lockCounts, taskIds);
  const [from, to] = [lowest.leaf_index, highest.leaf_index];
  yield* queueVerified(attemptId, [from, to], now);
  const receipts = yield* rows(settlementSql.giveReceipts, attemptId, from, to);
  const completed = yield* rows(settlementSql.complete, attemptId, from, to, now);
  if (completed.length !== receipts.length) throw unexpectedState();
  yield* rows(settlementSql.verify, attemptId, from, to);
  const settled = leaves.map(({ leaf_index: i }) => [attemptId, i, JSON.stringify(pathOf(i))]);
  yield* rows(settlementSql.settleLeaves, now, JSON.stringify(settled));
  yield* rows(settlementSql.count, attemptId, leaves.length, now);
}

/** Queues the completions of tasks that still exist, in their next generation. Returns the tasks that do not. */
function* queueAgain(taskIds: readonly string[], now: number): Steps<string[]> {
  const given = JSON.stringify(taskIds);
  const waiting = yield* rows<TaskRow>(settlementSql.lockTasks, given);
  const queued = yield* rows(settlementSql.requeue, given, now);
  if (queued.length !== waiting.length) throw unexpectedState();
  const existing = new Set(waiting.map(({ task_id }) => task_id));
  return taskIds.filter((taskId) => !existing.has(taskId));
}

function unexpectedState(): Error {
  return new Error('A leaf of the attempt has a completion in an unexpected state');
}
