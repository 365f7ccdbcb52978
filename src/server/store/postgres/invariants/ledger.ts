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

  settle_and_release_need_their_reserve: selecting(`
    SELECT l.kind || ' ' || l.seq || ' of task ' || l.task_id || ' has no reserve' FROM ledger l
    WHERE l.kind IN ('settle', 'release') AND NOT EXISTS (
      SELECT FROM ledger r WHERE r.task_id = l.task_id AND r.cycle = l.cycle
        AND r.kind = 'reserve' AND r.wallet = l.wallet AND r.seq < l.seq)`),

  reserve_ends_once: selecting(`
    SELECT 'task ' || s.task_id || ' was settled and released in cycle ' || s.cycle FROM ledger s
    JOIN ledger r ON r.task_id = s.task_id AND r.cycle = s.cycle AND r.kind = 'release'
    WHERE s.kind = 'settle'`),

  verified_task_is_settled_once: selecting(`
    SELECT 'task ' || t.id || ' is ' || t.status || ' with ' || count(l.seq) || ' settlements'
    FROM tasks t LEFT JOIN ledger l ON l.task_id = t.id AND l.kind = 'settle'
    GROUP BY t.id HAVING count(l.seq) <> (t.status = 'verified')::int`),

  failed_cycle_is_released: selecting(`
    SELECT 'cycle ' || r.cycle || ' of task ' || r.task_id || ' failed and was not released'
    FROM ledger r JOIN completions c ON c.task_id = r.task_id
    WHERE r.kind = 'reserve' AND (r.cycle < c.cycle OR c.state = 'failed') AND NOT EXISTS (
      SELECT FROM ledger f
      WHERE f.task_id = r.task_id AND f.cycle = r.cycle AND f.kind = 'release')`),

  open_cycle_is_only_reserved: selecting(`
    SELECT 'task ' || c.task_id || ' is ' || c.state || ' and has a ' || l.kind FROM completions c
    JOIN ledger l ON l.task_id = c.task_id AND l.cycle = c.cycle AND l.kind <> 'reserve'
    JOIN tasks t ON t.id = c.task_id AND t.status = 'claimed'
    WHERE c.state <> 'failed'`),

  completion_has_its_reserve: selecting(`
    SELECT 'task ' || c.task_id || ' is not at its own reserve' FROM completions c
    LEFT JOIN ledger l ON l.seq = c.reserve_seq
    WHERE l.kind IS DISTINCT FROM 'reserve' OR l.task_id <> c.task_id OR l.cycle <> c.cycle`),

  open_reserve_has_its_proof: selecting(`
    SELECT 'reserve ' || r.seq || ' of task ' || r.task_id || ' is held for nothing' FROM ledger r
    WHERE r.kind = 'reserve'
      AND NOT EXISTS (SELECT FROM ledger e WHERE e.task_id = r.task_id AND e.cycle = r.cycle
        AND e.kind IN ('settle', 'release'))
      AND NOT EXISTS (SELECT FROM completions c WHERE c.task_id = r.task_id
        AND c.cycle = r.cycle AND c.state IN ('queued', 'submitted'))
      AND NOT EXISTS (SELECT FROM leaves l WHERE l.task_id = r.task_id AND l.live)`),

  settled_leaf_is_in_the_ledger: selecting(`
    SELECT 'leaf ' || l.leaf_index || ' of attempt ' || l.attempt_id || ' is settled for nothing'
    FROM leaves l WHERE l.settled_at IS NOT NULL AND NOT EXISTS (
      SELECT FROM ledger e WHERE e.task_id = l.task_id AND e.kind = 'settle')`),
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
