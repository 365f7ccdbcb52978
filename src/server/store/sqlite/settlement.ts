import type { AnchorStore } from '../../core/anchor-store.ts';
import { chargeOf } from '../../core/money.ts';
import type { Access } from './access.ts';
import { anchorDays } from './anchor-days.ts';
import { attemptMover, completionMove } from './anchor-moves.ts';
import { completionTopic } from './completions.ts';
import type { LeaseGuard } from './leases.ts';
import type { Ledger } from './ledger.ts';
import type { WakeUps } from './wake-ups.ts';

interface IncludedRow {
  leaf_count: number;
  unsettled_leaves: number;
  cost_wei: string;
}

interface LeafRow {
  leaf_index: number;
  task_id: string;
  charged: 0 | 1;
}

/** Step 6 of anchoring: charge, receipt and `verified`, leaf by leaf. */
export function settlementStore(
  { writer, write }: Access,
  { guard, ledger, wakeUps }: { guard: LeaseGuard; ledger: Ledger; wakeUps: WakeUps },
): Pick<AnchorStore, 'settleLeaves'> {
  const countAnchor = anchorDays(writer);
  const move = attemptMover(writer);
  const included = writer.prepare<[string], IncludedRow>(
    'SELECT leaf_count, unsettled_leaves, cost_wei FROM attempts WHERE id = ?',
  );
  const unsettled = writer.prepare<[string, number], LeafRow>(
    `SELECT leaf_index, task_id, EXISTS (SELECT 1 FROM ledger
         WHERE ledger.task_id = leaves.task_id AND kind = 'settle') AS charged
     FROM leaves WHERE attempt_id = ? AND settled_at IS NULL ORDER BY leaf_index LIMIT ?`,
  );
  const settled = writer.prepare<[number, string, number]>(
    'UPDATE leaves SET settled_at = ? WHERE attempt_id = ? AND leaf_index = ?',
  );
  const { to, from } = completionMove('settle');
  const complete = writer.prepare<[number, string]>(
    `UPDATE completions SET updated_at = ?, state = ${to} WHERE task_id = ? AND state IN ${from}`,
  );
  const giveReceipt = writer.prepare<[string, number, string]>(
    `INSERT INTO receipts (task_id, proof_hash, attempt_id, leaf_index)
     SELECT task_id, proof_hash, ?, ? FROM completions WHERE task_id = ?
     ON CONFLICT (task_id) DO UPDATE SET
       attempt_id = excluded.attempt_id, leaf_index = excluded.leaf_index`,
  );
  const verify = writer.prepare<[string]>(`UPDATE tasks SET status = 'verified' WHERE id = ?`);
  const count = writer.prepare<[number, number, string]>(
    'UPDATE attempts SET unsettled_leaves = unsettled_leaves - ?, updated_at = ? WHERE id = ?',
  );

  function charge(attempt: IncludedRow, leaf: LeafRow, at: number): void {
    const { task_id: taskId, leaf_index: index } = leaf;
    // From the ledger, which outlives the task.
    const { wallet, cycle, gasWei: reservedWei } = ledger.reservationOf(taskId);
    const place = { index, count: attempt.leaf_count, reservedWei };
    const chargeWei = chargeOf(BigInt(attempt.cost_wei), place);
    const gasWei = reservedWei - chargeWei;
    ledger.post({ kind: 'settle', wallet, anchors: 0, gasWei, taskId, cycle, at });
    countAnchor({ wallet, taskId, chargeWei, at });
  }

  return {
    async settleLeaves(lease, attemptId, limit, now) {
      const { taskIds, left } = await write(() => {
        guard(lease);
        move(lease, attemptId, 'settle', now);
        const attempt = included.get(attemptId);
        if (attempt === undefined) throw new Error('The attempt is gone');
        const leaves = unsettled.all(attemptId, limit);
        for (const leaf of leaves) {
          const { task_id: taskId, leaf_index: index } = leaf;
          // Once, at the first inclusion: what is anchored anew costs the account nothing.
          if (leaf.charged === 0) charge(attempt, leaf, now);
          const receipts = giveReceipt.run(attemptId, index, taskId).changes;
          if (complete.run(now, taskId).changes !== receipts) {
            throw new Error('A leaf of the attempt belongs to a completion that it cannot have');
          }
          verify.run(taskId);
          settled.run(now, attemptId, index);
        }
        if (leaves.length > 0) count.run(leaves.length, now, attemptId);
        return {
          taskIds: leaves.map(({ task_id }) => task_id),
          left: attempt.unsettled_leaves - leaves.length,
        };
      });
      for (const taskId of taskIds) wakeUps.wake(completionTopic(taskId));
      return left;
    },
  };
}
