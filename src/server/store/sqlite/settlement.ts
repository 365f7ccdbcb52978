import type { AnchorStore } from '../../core/anchor-store.ts';
import { chargeOf } from '../../core/money.ts';
import type { Access } from './access.ts';
import { anchorDays } from './anchor-days.ts';
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
}

/** Step 6 of anchoring: charge, receipt and `verified`, leaf by leaf. */
export function settlementStore(
  { writer, write }: Access,
  { guard, ledger, wakeUps }: { guard: LeaseGuard; ledger: Ledger; wakeUps: WakeUps },
): Pick<AnchorStore, 'settleLeaves'> {
  const countAnchor = anchorDays(writer);
  const included = writer.prepare<[string, number, string], IncludedRow>(
    `SELECT leaf_count, unsettled_leaves, cost_wei FROM attempts
     WHERE id = ? AND chain_id = ? AND sender = ? AND state IN ('included', 'finalized')`,
  );
  const unsettled = writer.prepare<[string, number], LeafRow>(
    `SELECT leaf_index, task_id FROM leaves WHERE attempt_id = ? AND settled_at IS NULL
     ORDER BY leaf_index LIMIT ?`,
  );
  const settled = writer.prepare<[number, string, number]>(
    'UPDATE leaves SET settled_at = ? WHERE attempt_id = ? AND leaf_index = ?',
  );
  // The attempt's own state, so that a leaf settled late says what is true by then.
  const complete = writer.prepare<[number, string, string]>(
    `UPDATE completions SET updated_at = ?, state = (SELECT state FROM attempts WHERE id = ?)
     WHERE task_id = ?`,
  );
  const insertReceipt = writer.prepare<[string, number, string]>(
    `INSERT INTO receipts (task_id, proof_hash, attempt_id, leaf_index)
     SELECT task_id, proof_hash, ?, ? FROM completions WHERE task_id = ?`,
  );
  const verify = writer.prepare<[string]>(`UPDATE tasks SET status = 'verified' WHERE id = ?`);
  const count = writer.prepare<[number, number, string]>(
    'UPDATE attempts SET unsettled_leaves = unsettled_leaves - ?, updated_at = ? WHERE id = ?',
  );

  return {
    async settleLeaves(lease, attemptId, limit, now) {
      const { taskIds, left } = await write(() => {
        guard(lease);
        const attempt = included.get(attemptId, lease.chainId, lease.sender);
        if (attempt === undefined) throw new Error('Only an included attempt can be settled');
        const cost = BigInt(attempt.cost_wei);
        const leaves = unsettled.all(attemptId, limit);
        for (const { task_id: taskId, leaf_index: index } of leaves) {
          // From the ledger, which outlives the task.
          const { wallet, cycle, gasWei: reservedWei } = ledger.reservationOf(taskId);
          const charge = chargeOf(cost, { index, count: attempt.leaf_count, reservedWei });
          const gasWei = reservedWei - charge;
          ledger.post({ kind: 'settle', wallet, anchors: 0, gasWei, taskId, cycle, at: now });
          countAnchor({ wallet, taskId, chargeWei: charge, at: now });
          insertReceipt.run(attemptId, index, taskId);
          verify.run(taskId);
          complete.run(now, attemptId, taskId);
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
