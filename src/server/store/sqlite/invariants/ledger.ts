// Invariants of ledger and balances, computed in code: wei do not fit SQLite's integers.

import type { Database } from 'better-sqlite3';
import { type EndedReserveRow, wrongReturns } from '../../invariants/statements.ts';
import { balanceStatement, toBalance } from '../account.ts';

interface EntryRow {
  seq: number;
  wallet: string;
  anchors: number;
  gas_wei: string;
}

interface RunningSum {
  entry: EntryRow;
  anchors: bigint;
  gasWei: bigint;
}

export function* ledgerSumsEqualBalances(db: Database): Generator<string> {
  const balance = balanceStatement(db);
  let last: RunningSum | undefined;
  function* compare(sum: RunningSum | undefined): Generator<string> {
    if (sum === undefined) return;
    const { wallet } = sum.entry;
    const account = toBalance(balance.get(wallet));
    const holds =
      account !== null &&
      BigInt(account.anchorQuota) === sum.anchors &&
      account.gasCreditWei === sum.gasWei;
    if (!holds) yield `the ledger of ${wallet} sums to ${sum.anchors} anchors, ${sum.gasWei} wei`;
  }
  for (const sum of runningSums(db)) {
    if (last !== undefined && sum.entry.wallet !== last.entry.wallet) yield* compare(last);
    last = sum;
  }
  yield* compare(last);
}

export function* ledgerNeverNegative(db: Database): Generator<string> {
  for (const { entry, anchors, gasWei } of runningSums(db)) {
    if (anchors < 0n || gasWei < 0n) {
      yield `entry ${entry.seq} took the balance of ${entry.wallet} below zero`;
    }
  }
}

export function* chargesFollowCost(db: Database): Generator<string> {
  const ended = db.prepare<[], EndedReserveRow>(
    `SELECT e.seq, e.kind, e.task_id, e.gas_wei, r.gas_wei AS reserved, l.leaf_index, a.leaf_count,
       a.cost_wei
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     LEFT JOIN leaves l ON l.id = (SELECT s.id FROM leaves s
       WHERE s.task_id = e.task_id AND s.settled_at IS NOT NULL ORDER BY s.generation LIMIT 1)
     LEFT JOIN attempts a ON a.id = l.attempt_id
     WHERE e.kind IN ('settle', 'release')`,
  );
  for (const row of ended.iterate()) yield* wrongReturns(row);
}

/** Yields each ledger entry with the account's sums up to it, ordered by account. */
function* runningSums(db: Database): Generator<RunningSum> {
  const entries = db.prepare<[], EntryRow>(
    'SELECT seq, wallet, anchors, gas_wei FROM ledger ORDER BY wallet, seq',
  );
  let wallet: string | undefined;
  let anchors = 0n;
  let gasWei = 0n;
  for (const entry of entries.iterate()) {
    if (entry.wallet !== wallet) [wallet, anchors, gasWei] = [entry.wallet, 0n, 0n];
    anchors += BigInt(entry.anchors);
    gasWei += BigInt(entry.gas_wei);
    yield { entry, anchors, gasWei };
  }
}
