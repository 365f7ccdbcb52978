// Stores settlement: charges, receipts and verified tasks (step 6), and attempts with a replaced nonce.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import type { Triggers } from '../../../base/triggers.ts';
import type { Hex } from '../../../proof/bytes.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { moveAttempts } from '../anchor-attempts.ts';
import { chargesOf, settleEntry } from '../rows/account.ts';
import { inclusionPaths, type PathOf } from '../rows/anchoring.ts';
import { completionTopic, QUEUE_TOPIC } from '../topics.ts';
import { queueVerified } from '../webhooks.ts';
import type { Ledger } from './account.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';
import type { LeasedAccess } from './leases.ts';
import { anchorDays } from './stats.ts';

interface IncludedRow {
  leaf_count: number;
  unsettled_leaves: number;
  cost_wei: string;
}

interface Places {
  attemptId: string;
  first: number;
  last: number;
}

interface LeafRow {
  leaf_index: number;
  task_id: string;
  charged: 0 | 1;
}

/** Waiting requests woken per turn of the event loop. Each reads and sends its response in that turn. */
const WAKES_PER_TURN = 16;

/** Step 6 of anchoring: charge, receipt and `verified`, for many leaves in one commit. */
export function settlementStore(
  access: Access,
  { leased, ledger, triggers }: { leased: LeasedAccess; ledger: Ledger; triggers: Triggers },
): Pick<AnchorStore, 'settleLeaves'> {
  const { writer } = access;
  const run = runOn(writer);
  const leaves = access.reader
    .prepare<[string], Hex>('SELECT leaf FROM leaves WHERE attempt_id = ? ORDER BY leaf_index')
    .pluck();
  const paths = inclusionPaths((attemptId) => access.read(() => leaves.all(attemptId)));
  const charge = chargeWriter(writer, ledger);
  const verify = verification(writer);
  const included = writer.prepare<[string], IncludedRow>(
    'SELECT leaf_count, unsettled_leaves, cost_wei FROM attempts WHERE id = ?',
  );
  const unsettled = writer.prepare<[string, number], LeafRow>(
    `SELECT leaf_index, task_id, EXISTS (SELECT 1 FROM ledger
         WHERE ledger.task_id = leaves.task_id AND kind = 'settle') AS charged
     FROM leaves WHERE attempt_id = ? AND settled_at IS NULL ORDER BY leaf_index LIMIT ?`,
  );
  const count = writer.prepare<[number, number, string]>(
    'UPDATE attempts SET unsettled_leaves = unsettled_leaves - ?, updated_at = ? WHERE id = ?',
  );

  return {
    async settleLeaves(lease, attemptId, limit, now) {
      const pathOf = await paths.of(attemptId);
      const { taskIds, left } = await leased.write(lease, () => {
        run(moveAttempts(lease, [attemptId], 'settle', now));
        const attempt = included.get(attemptId);
        if (attempt === undefined) throw new Error('The attempt does not exist');
        const leaves = unsettled.all(attemptId, limit);
        charge(attempt, leaves, now);
        verify(attemptId, leaves, pathOf, now);
        if (leaves.length > 0) count.run(leaves.length, now, attemptId);
        return {
          taskIds: leaves.map(({ task_id }) => task_id),
          left: attempt.unsettled_leaves - leaves.length,
        };
      });
      if (left === 0) paths.forget(attemptId);
      for (const [i, taskId] of taskIds.entries()) {
        triggers.wake(completionTopic(taskId));
        if (i % WAKES_PER_TURN === WAKES_PER_TURN - 1) await nextTurn();
      }
      return left;
    },
  };
}

/** Ends an attempt whose nonce another transaction used, and queues its proofs again. */
export function replacedNonceStore(
  { writer }: Access,
  { leased, ledger, triggers }: { leased: LeasedAccess; ledger: Ledger; triggers: Triggers },
): Pick<AnchorStore, 'recordReplacedNonce'> {
  const run = runOn(writer);
  const requeue = nextGeneration(writer);
  // Deleted tasks that were never charged get their reservation back.
  const abandoned = writer.prepare<[string], { task_id: string }>(
    `SELECT l.task_id FROM leaves l WHERE l.attempt_id = ?
       AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = l.task_id)
       AND NOT EXISTS (SELECT 1 FROM ledger s WHERE s.task_id = l.task_id AND s.kind = 'settle')`,
  );
  const endLeaves = writer.prepare<[string]>('UPDATE leaves SET live = 0 WHERE attempt_id = ?');

  return {
    async recordReplacedNonce(lease, attemptId, now) {
      await leased.write(lease, () => {
        run(moveAttempts(lease, [attemptId], 'die', now));
        requeue(attemptId, now);
        for (const { task_id: taskId } of abandoned.all(attemptId)) {
          ledger.releaseReservation(taskId, now);
        }
        endLeaves.run(attemptId);
      });
      triggers.wake(QUEUE_TOPIC);
    },
  };
}

/** Charges each task once, at its first settlement. Anchoring it again after a reorganization is free. */
function chargeWriter(
  writer: Database,
  ledger: Ledger,
): (attempt: IncludedRow, leaves: readonly LeafRow[], at: number) => void {
  const countAnchors = anchorDays(writer);
  return (attempt, leaves, at) => {
    const due = leaves.filter(({ charged }) => charged === 0);
    // Read from the ledger, because the task may be deleted.
    const charges = chargesOf(attempt, due, (taskId) => ledger.reservationOf(taskId));
    ledger.postAll(charges.map((charge) => settleEntry(charge, at)));
    countAnchors(charges, at);
  };
}

/** Stores receipt, path and state of consecutive unsettled leaves. A deleted task gets no receipt. */
function verification(
  writer: Database,
): (attemptId: string, leaves: readonly LeafRow[], pathOf: PathOf, now: number) => void {
  const { to, from } = completionMove('settle');
  const run = runOn(writer);
  const these = `FROM leaves l WHERE l.attempt_id = :attemptId
    AND l.leaf_index BETWEEN :first AND :last AND l.settled_at IS NULL`;
  const giveReceipts = writer.prepare<[Places]>(
    `INSERT INTO receipts (task_id, proof_hash, attempt_id, leaf_index)
     SELECT c.task_id, c.proof_hash, these.attempt_id, these.leaf_index
     FROM (SELECT l.* ${these}) these JOIN completions c ON c.task_id = these.task_id
     WHERE true ORDER BY these.leaf_index
     ON CONFLICT (task_id) DO UPDATE SET
       attempt_id = excluded.attempt_id, leaf_index = excluded.leaf_index`,
  );
  const complete = writer.prepare<[Places & { now: number }]>(
    `UPDATE completions SET updated_at = :now, state = ${to}
     WHERE task_id IN (SELECT l.task_id ${these}) AND state IN ${from}`,
  );
  const verify = writer.prepare<[Places]>(
    `UPDATE tasks SET status = 'verified' WHERE id IN (SELECT l.task_id ${these})`,
  );
  const settle = writer.prepare<[number, string, string, number]>(
    'UPDATE leaves SET settled_at = ?, path = ? WHERE attempt_id = ? AND leaf_index = ?',
  );
  return (attemptId, leaves, pathOf, now) => {
    const first = leaves[0]?.leaf_index;
    const last = leaves.at(-1)?.leaf_index;
    if (first === undefined || last === undefined) return;
    const places = { attemptId, first, last };
    run(queueVerified(attemptId, [first, last], now));
    const receipts = giveReceipts.run(places).changes;
    if (complete.run({ ...places, now }).changes !== receipts) {
      throw new Error('A leaf of the attempt has a completion in an unexpected state');
    }
    verify.run(places);
    for (const { leaf_index: index } of leaves) {
      settle.run(now, JSON.stringify(pathOf(index)), attemptId, index);
    }
  };
}

function nextGeneration(writer: Database): (attemptId: string, now: number) => void {
  const { to, from } = completionMove('requeue');
  const waiting = writer.prepare<[string], { total: number }>(
    `SELECT count(*) AS total FROM leaves l JOIN completions c ON c.task_id = l.task_id
     WHERE l.attempt_id = ?`,
  );
  const queue = writer.prepare<[number, string]>(
    `UPDATE completions SET state = ${to}, generation = generation + 1, updated_at = ?
     WHERE task_id IN (SELECT task_id FROM leaves WHERE attempt_id = ?) AND state IN ${from}`,
  );
  return (attemptId, now) => {
    if (queue.run(now, attemptId).changes !== waiting.get(attemptId)?.total) {
      throw new Error('A leaf of the attempt has a completion in an unexpected state');
    }
  };
}
