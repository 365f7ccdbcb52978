import { type EndedReserveRow, wrongReturns } from '../../invariants/charges.ts';
import type { Queries } from '../connections.ts';
import { type Invariant, scan, selecting } from './invariant.ts';

export const ledgerInvariants: Record<string, Invariant> = {
  ledger_sums_equal_balances: selecting(`
    SELECT 'the ledger of ' || l.wallet || ' sums to ' || l.anchors || ' anchors, ' || l.gas_wei || ' wei'
    FROM (SELECT wallet, sum(anchors) AS anchors, sum(gas_wei) AS gas_wei FROM ledger GROUP BY wallet) l
    LEFT JOIN accounts a ON a.wallet = l.wallet
    WHERE a.anchor_quota IS DISTINCT FROM l.anchors OR a.gas_credit_wei <> l.gas_wei`),

  ledger_never_negative: selecting(`
    SELECT 'entry ' || seq || ' took the balance of ' || wallet || ' below zero' FROM (
      SELECT seq, wallet, sum(anchors) OVER w AS anchors, sum(gas_wei) OVER w AS gas_wei
      FROM ledger WINDOW w AS (PARTITION BY wallet ORDER BY seq)) s
    WHERE anchors < 0 OR gas_wei < 0`),

  balances_not_negative: selecting(`
    SELECT 'account ' || wallet || ' has a negative balance' FROM accounts
    WHERE anchor_quota < 0 OR gas_credit_wei < 0`),

  accounts_without_ledger_are_empty: selecting(`
    SELECT 'account ' || wallet || ' has a balance and no ledger' FROM accounts a
    WHERE (anchor_quota <> 0 OR gas_credit_wei <> 0)
      AND NOT EXISTS (SELECT FROM ledger l WHERE l.wallet = a.wallet)`),

  verified_task_is_settled_once: selecting(`
    SELECT 'task ' || t.id || ' is ' || t.status || ' with ' || count(l.seq) || ' settlements'
    FROM tasks t LEFT JOIN ledger l ON l.task_id = t.id AND l.kind = 'settle'
    GROUP BY t.id HAVING count(l.seq) <> (t.status = 'verified')::int`),

  open_reserve_has_its_proof: selecting(`
    SELECT 'reserve ' || r.seq || ' of task ' || r.task_id || ' is held for nothing' FROM ledger r
    WHERE r.kind = 'reserve'
      AND NOT EXISTS (SELECT FROM ledger e WHERE e.task_id = r.task_id AND e.cycle = r.cycle
        AND e.kind IN ('settle', 'release'))
      AND NOT EXISTS (SELECT FROM completions c WHERE c.task_id = r.task_id
        AND c.cycle = r.cycle AND c.state IN ('queued', 'submitted'))
      AND NOT EXISTS (SELECT FROM leaves l WHERE l.task_id = r.task_id AND l.live)`),
};

export async function* chargesFollowCost(tx: Queries): AsyncGenerator<string> {
  const ended = scan<EndedReserveRow>(
    tx,
    `SELECT e.seq, e.kind, e.task_id, e.gas_wei, r.gas_wei AS reserved, l.leaf_index, a.leaf_count,
       a.cost_wei
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     LEFT JOIN (
       SELECT DISTINCT ON (task_id) task_id, attempt_id, leaf_index FROM leaves
       WHERE settled_at IS NOT NULL ORDER BY task_id, generation) l ON l.task_id = e.task_id
     LEFT JOIN attempts a ON a.id = l.attempt_id
     WHERE e.kind IN ('settle', 'release')`,
  );
  for await (const row of ended) yield* wrongReturns(row);
}
