// Stores settlement: charges, receipts and verified tasks (step 6), failed proofs, and attempts with a replaced nonce.

import { startYielding } from '../../../base/async/cooperative-yield.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import { completionMove } from '../../rules/anchoring.ts';
import type { Db, Tx } from '../db/database.ts';
import { among, elements, onPostgres, typed } from '../db/dialect.ts';
import { raw, sql } from '../db/sql.ts';
import {
  chargesOf,
  lockReserving,
  postEntries,
  releaseReservations,
  reservationsOf,
} from '../ledger.ts';
import { countAnchors } from '../stats.ts';
import { queueFailed, queueVerified } from '../webhook-outbox.ts';
import { moveAttempts } from './anchor-attempts.ts';
import { locked, noteAssignment, returnSome, unexpectedState } from './assignments.ts';
import { inclusionPaths, type PathOf, pathBytes } from './paths.ts';
import { completionTopic, QUEUE_TOPIC } from './waits.ts';

/** Waiting requests that are woken together. A request for several tasks responds when the last of them is settled. */
const WOKEN_TOGETHER = 16;

/** Leaves of a dead attempt that its last commit returns to the queue. */
const RETURNED_AT_ONCE = 256;

const settle = completionMove('settle');
const fail = completionMove('fail');

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

export function settlementStore({ all, leased, wake }: Db) {
  const paths = inclusionPaths(all);
  let waking: Promise<void> = Promise.resolve();

  async function wakeInTurns(taskIds: readonly string[]): Promise<void> {
    const others = startYielding();
    for (let i = 0; i < taskIds.length; i += WOKEN_TOGETHER) {
      wake(taskIds.slice(i, i + WOKEN_TOGETHER).map(completionTopic));
      // On SQLite, the woken requests respond before the next tick.
      await new Promise((resolve) => process.nextTick(resolve));
      await others();
    }
  }

  return {
    async settleLeaves(lease, attemptId, limit, now) {
      const pathOf = await paths.of(attemptId);
      const { taskIds, left } = await leased.write(lease, async (tx) => {
        await moveAttempts(tx, lease, [attemptId], 'settle', now);
        const attempt = await tx.one<AttemptRow>(sql`SELECT leaf_count, unsettled_leaves, cost_wei
          FROM attempts WHERE id = ${attemptId}`);
        const first = attempt.leaf_count - attempt.unsettled_leaves;
        const leaves = await unsettledLeaves(tx, attemptId, [first, limit]);
        await charge(tx, attempt, leaves, now);
        await verify(tx, attemptId, { leaves, pathOf, now });
        return { taskIds: idsOf(leaves), left: attempt.unsettled_leaves - leaves.length };
      });
      if (left === 0) paths.forget(attemptId);
      // The next commit is written while the requests wake.
      await waking;
      waking = wakeInTurns(taskIds);
      return left;
    },

    async recordReplacedNonce(lease, attemptId, now) {
      await leased.write(lease, async (tx) => {
        await moveAttempts(tx, lease, [attemptId], 'die', now);
        await noteAssignment(tx, lease, attemptId);
        await returnSome(tx, lease, RETURNED_AT_ONCE, now);
      });
      wake([QUEUE_TOPIC]);
    },

    async failQueuedProofs(lease, taskIds, reason, now) {
      const moved = await leased.write(lease, async (tx) => {
        await lockReserving(tx, taskIds);
        const isGiven = sql`task_id ${among('uuid', taskIds)}`;
        await tx.run(
          onPostgres(sql`SELECT task_id FROM completions WHERE ${isGiven}
            ORDER BY task_id FOR NO KEY UPDATE`),
        );
        // Only generation 0: a proof of a later generation was signed before, and a signed proof keeps its reservation.
        const failed = await tx.all<TaskRow>(sql`UPDATE completions
          SET state = ${raw(fail.to)}, failure = ${reason}, updated_at = ${now}
          WHERE ${isGiven} AND state IN ${raw(fail.from)} AND generation = 0 RETURNING task_id`);
        const ids = idsOf(failed);
        await releaseReservations(tx, ids, now);
        await queueFailed(tx, ids, reason, now);
        await tx.run(sql`DELETE FROM completions
          WHERE task_id ${among('uuid', ids)} AND claim_hash = leaf`);
        return ids;
      });
      wake(moved.map(completionTopic));
    },
  } satisfies Partial<AnchorStore>;
}

function idsOf(found: readonly TaskRow[]): string[] {
  return found.map(({ task_id }) => task_id);
}

/** Reads from the first unsettled leaf on, because leaves are settled in the order of the tree. */
function unsettledLeaves(tx: Tx, attemptId: string, [first, limit]: readonly [number, number]) {
  return tx.all<LeafRow>(sql`SELECT leaf_index, task_id, EXISTS (SELECT 1 FROM ledger
      WHERE ledger.task_id = leaves.task_id AND kind = 'settle') AS charged
    FROM leaves WHERE attempt_id = ${attemptId} AND leaf_index >= ${first} AND settled_at IS NULL
    ORDER BY leaf_index LIMIT ${limit}`);
}

/** Charges each task once, at its first settlement. Anchoring it again after a reorganization is free. */
async function charge(tx: Tx, attempt: AttemptRow, leaves: readonly LeafRow[], at: number) {
  const due = leaves.filter(({ charged }) => !charged);
  if (due.length === 0) return;
  // Read from the ledger, because the task may be deleted.
  const reservationOf = await reservationsOf(tx, idsOf(due));
  const charges = chargesOf(attempt, due, reservationOf);
  await postEntries(
    tx,
    charges.map(({ chargeWei: _, ...charge }) => ({ kind: 'settle', anchors: 0, ...charge, at })),
  );
  await countAnchors(tx, charges, at);
}

interface Settling {
  leaves: readonly LeafRow[];
  pathOf: PathOf;
  now: number;
}

/** Stores receipt, path and state of consecutive unsettled leaves. */
async function verify(tx: Tx, attemptId: string, settling: Settling): Promise<void> {
  const { leaves, now } = settling;
  const [lowest, highest] = [leaves[0], leaves.at(-1)];
  if (lowest === undefined || highest === undefined) return;
  const [from, to] = [lowest.leaf_index, highest.leaf_index];
  await lockForVerification(tx, idsOf(leaves));
  await queueVerified(tx, attemptId, [from, to], now);
  const these = sql`FROM leaves l WHERE l.attempt_id = ${attemptId}
    AND l.leaf_index BETWEEN ${from} AND ${to} AND l.settled_at IS NULL`;
  // A deleted task gets no receipt.
  const receipts = await tx.run(sql`
    INSERT INTO receipts (task_id, proof_hash, attempt_id, leaf_index)
    SELECT c.task_id, c.proof_hash, these.attempt_id, these.leaf_index
    FROM (SELECT l.* ${these}) AS these JOIN completions c ON c.task_id = these.task_id
    WHERE true ORDER BY these.leaf_index
    ON CONFLICT (task_id) DO UPDATE SET
      attempt_id = excluded.attempt_id, leaf_index = excluded.leaf_index`);
  const completed = await tx.run(sql`UPDATE completions
    SET updated_at = ${now}, state = ${raw(settle.to)}
    WHERE task_id IN (SELECT l.task_id ${these}) AND state IN ${raw(settle.from)}`);
  if (completed !== receipts) throw unexpectedState();
  await tx.run(sql`UPDATE tasks SET status = 'verified' WHERE id IN (SELECT l.task_id ${these})`);
  await markSettled(tx, attemptId, settling);
}

/** Locks the tasks by id, then the counts by robot: the trigger on tasks would lock those in the order of its rows. */
async function lockForVerification(tx: Tx, taskIds: readonly string[]): Promise<void> {
  await tx.run(onPostgres(locked(taskIds)));
  await tx.run(
    onPostgres(sql`SELECT robot_id FROM task_counts
      WHERE robot_id IN (SELECT robot_id FROM tasks WHERE id ${among('uuid', taskIds)})
      ORDER BY robot_id FOR NO KEY UPDATE`),
  );
}

async function markSettled(tx: Tx, attemptId: string, { leaves, pathOf, now }: Settling) {
  const paths = leaves.map((leaf) => pathBytes(pathOf(leaf.leaf_index)));
  // The first byte is padding: SQLite's substr of an empty blob is NULL.
  const bytes = Buffer.concat([Buffer.alloc(1), ...paths]);
  let end = 2;
  // Each given leaf names its attempt: with `attempt_id = …`, SQLite walks the list once for each leaf of the attempt.
  const given = leaves.map(({ leaf_index: index }, i) => {
    const [begin, length] = [end, paths[i]?.length ?? 0];
    end += length;
    return [attemptId, index, begin, length];
  });
  await tx.run(sql`UPDATE leaves SET settled_at = ${now},
      path = substr(${typed('bytea', bytes)}, CAST(g.value ->> 2 AS integer),
        CAST(g.value ->> 3 AS integer))
    FROM ${elements(given)} AS g
    WHERE attempt_id = ${typed('uuid', sql`(g.value ->> 0)`)}
      AND leaf_index = CAST(g.value ->> 1 AS integer)`);
  await tx.run(sql`UPDATE attempts
    SET unsettled_leaves = unsettled_leaves - ${leaves.length}, updated_at = ${now}
    WHERE id = ${attemptId}`);
}
