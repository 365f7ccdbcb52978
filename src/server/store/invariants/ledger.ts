// Invariants of ledger, balances and daily charges, computed in code: wei do not fit SQLite's integers.

import { chargeOf } from '../../rules/credits.ts';
import { folded, type Snapshot } from './snapshot.ts';

interface EntryRow {
  seq: number;
  wallet: string;
  anchors: number;
  gas_wei: string;
  /** The account's balance; null if there is no account. */
  anchor_quota: number | null;
  gas_credit_wei: string | null;
}

interface RunningSum {
  entry: EntryRow;
  anchors: bigint;
  gasWei: bigint;
}

/** Yields each ledger entry with the account's sums up to it, ordered by account. */
async function* runningSums({ scan }: Snapshot): AsyncGenerator<RunningSum> {
  const entries = scan<EntryRow>(
    `SELECT l.seq, l.wallet, l.anchors, l.gas_wei, a.anchor_quota, a.gas_credit_wei
     FROM ledger l LEFT JOIN accounts a ON a.wallet = l.wallet ORDER BY l.wallet, l.seq`,
  );
  let wallet: string | undefined;
  let anchors = 0n;
  let gasWei = 0n;
  for await (const entry of entries) {
    if (entry.wallet !== wallet) [wallet, anchors, gasWei] = [entry.wallet, 0n, 0n];
    anchors += BigInt(entry.anchors);
    gasWei += BigInt(entry.gas_wei);
    yield { entry, anchors, gasWei };
  }
}

export async function* ledgerSumsEqualBalances(snapshot: Snapshot): AsyncGenerator<string> {
  const totals = folded(runningSums(snapshot), {
    start: (sum) => sum,
    isSame: (sum, next) => sum.entry.wallet === next.entry.wallet,
    add: (_, next) => next,
  });
  for await (const { entry, anchors, gasWei } of totals) {
    const { wallet, anchor_quota: quota, gas_credit_wei: credit } = entry;
    if (quota !== null && BigInt(quota) === anchors && BigInt(credit ?? 0) === gasWei) continue;
    yield `the ledger of ${wallet} sums to ${anchors} anchors, ${gasWei} wei`;
  }
}

export async function* ledgerNeverNegative(snapshot: Snapshot): AsyncGenerator<string> {
  for await (const { entry, anchors, gasWei } of runningSums(snapshot)) {
    if (anchors < 0n || gasWei < 0n) {
      yield `entry ${entry.seq} took the balance of ${entry.wallet} below zero`;
    }
  }
}

/** The ledger entry that ended a reservation, the reserved amount, and the first settled leaf of the task. */
interface EndedReserveRow {
  seq: number;
  kind: 'settle' | 'release';
  task_id: string;
  gas_wei: string;
  reserved: string;
  leaf_index: number | null;
  leaf_count: number | null;
  cost_wei: string | null;
}

/** A release returns the whole reservation, a settlement all but the leaf's charge. */
export async function* chargesFollowCost({ scan }: Snapshot): AsyncGenerator<string> {
  const ended = scan<EndedReserveRow>(
    `SELECT e.seq, e.kind, e.task_id, e.gas_wei, r.gas_wei AS reserved, l.leaf_index, a.leaf_count,
       a.cost_wei
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     LEFT JOIN (SELECT task_id, min(generation) AS generation FROM leaves
       WHERE settled_at IS NOT NULL GROUP BY task_id) s ON s.task_id = e.task_id
     LEFT JOIN leaves l ON l.task_id = s.task_id AND l.generation = s.generation
     LEFT JOIN attempts a ON a.id = l.attempt_id
     WHERE e.kind IN ('settle', 'release')`,
  );
  for await (const row of ended) {
    const { kind, seq, task_id, gas_wei } = row;
    const reservedWei = -BigInt(row.reserved);
    const charge = kind === 'release' ? 0n : chargeOfRow(row, reservedWei);
    if (charge !== null && BigInt(gas_wei) === reservedWei - charge) continue;
    yield `${kind} ${seq} of task ${task_id} returns ${gas_wei} of ${reservedWei} wei`;
  }
}

function chargeOfRow(row: EndedReserveRow, reservedWei: bigint): bigint | null {
  const { leaf_index: index, leaf_count: count, cost_wei: cost } = row;
  if (index === null || count === null || cost === null) return null;
  return chargeOf(BigInt(cost), { index, count, reservedWei });
}

interface SettledRow {
  wallet: string;
  day: number;
  returned: string;
  reserved: string;
  /** The stored count of the day; null if there is none. */
  anchors: number | null;
  gas_wei: string | null;
}

export async function* anchorDaysFollowLedger({ scan }: Snapshot): AsyncGenerator<string> {
  const settled = scan<SettledRow>(
    `SELECT e.wallet, e.at - e.at % 86400000 AS day, e.gas_wei AS returned, r.gas_wei AS reserved,
       d.anchors, d.gas_wei
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     LEFT JOIN anchor_days d ON d.scope = e.wallet AND d.at = e.at - e.at % 86400000
     WHERE e.kind = 'settle' ORDER BY e.wallet, day`,
  );
  const days = folded(settled, {
    start: (row) => ({ row, anchors: 0, gasWei: 0n }),
    isSame: ({ row }, next) => row.wallet === next.wallet && row.day === next.day,
    add: ({ row, anchors, gasWei }, { reserved, returned }) => ({
      row,
      anchors: anchors + 1,
      gasWei: gasWei - BigInt(reserved) - BigInt(returned),
    }),
  });
  for await (const { row, anchors, gasWei } of days) {
    if (row.anchors === anchors && BigInt(row.gas_wei ?? 0) === gasWei) continue;
    yield `day ${row.day} of ${row.wallet} has ${anchors} anchors for ${gasWei} wei in the ledger`;
  }
}

interface FleetDayRow {
  wallet: string;
  at: number;
  anchors: number;
  gas_wei: string;
  account_anchors: number | null;
  account_gas_wei: string | null;
}

/** The counts of an account's fleets add up to at most those of the account. */
export async function* fleetsWithinAccounts({ scan }: Snapshot): AsyncGenerator<string> {
  const hours = scan<{ wallet: string; at: number }>(
    `SELECT f.wallet, a.at FROM fleets f JOIN activity_hours a ON a.scope = CAST(f.id AS text)
     LEFT JOIN activity_hours w ON w.scope = f.wallet AND w.at = a.at
     GROUP BY f.wallet, a.at, w.samples, w.info, w.warn, w.error
     HAVING sum(a.samples) > coalesce(w.samples, 0) OR sum(a.info) > coalesce(w.info, 0)
       OR sum(a.warn) > coalesce(w.warn, 0) OR sum(a.error) > coalesce(w.error, 0)`,
  );
  for await (const { wallet, at } of hours) {
    yield `the fleets of ${wallet} count more than the account in hour ${at}`;
  }
  const ofFleets = scan<FleetDayRow>(
    `SELECT f.wallet, d.at, d.anchors, d.gas_wei, w.anchors AS account_anchors,
       w.gas_wei AS account_gas_wei
     FROM fleets f JOIN anchor_days d ON d.scope = CAST(f.id AS text)
     LEFT JOIN anchor_days w ON w.scope = f.wallet AND w.at = d.at ORDER BY f.wallet, d.at`,
  );
  const days = folded(ofFleets, {
    start: (row) => ({ row, anchors: 0, gasWei: 0n }),
    isSame: ({ row }, next) => row.wallet === next.wallet && row.at === next.at,
    add: ({ row, anchors, gasWei }, next) => ({
      row,
      anchors: anchors + next.anchors,
      gasWei: gasWei + BigInt(next.gas_wei),
    }),
  });
  for await (const { row, anchors, gasWei } of days) {
    const { account_anchors: ofAccount, account_gas_wei: weiOfAccount } = row;
    if (anchors <= (ofAccount ?? 0) && gasWei <= BigInt(weiOfAccount ?? 0)) continue;
    yield `the fleets of ${row.wallet} count more than the account on day ${row.at}`;
  }
}
