import type { Database } from 'better-sqlite3';

interface SettledRow {
  wallet: string;
  day: number;
  returned: string;
  reserved: string;
}

interface Spent {
  wallet: string;
  day: number;
  anchors: number;
  gasWei: bigint;
}

/** What the ledger says each account spent on each day (UTC). */
function* spentByDay(db: Database): Generator<Spent> {
  const settled = db.prepare<[], SettledRow>(
    `SELECT e.wallet, e.at - e.at % 86400000 AS day, e.gas_wei AS returned, r.gas_wei AS reserved
     FROM ledger e
     JOIN ledger r ON r.task_id = e.task_id AND r.cycle = e.cycle AND r.kind = 'reserve'
     WHERE e.kind = 'settle' ORDER BY e.wallet, day`,
  );
  let spent: Spent | undefined;
  for (const { wallet, day, returned, reserved } of settled.iterate()) {
    if (spent?.wallet !== wallet || spent.day !== day) {
      if (spent !== undefined) yield spent;
      spent = { wallet, day, anchors: 0, gasWei: 0n };
    }
    spent.anchors += 1;
    spent.gasWei += -BigInt(reserved) - BigInt(returned);
  }
  if (spent !== undefined) yield spent;
}

export function* anchorDaysFollowLedger(db: Database): Generator<string> {
  const counted = db.prepare<[string, number], { anchors: number; gas_wei: string }>(
    'SELECT anchors, gas_wei FROM anchor_days WHERE scope = ? AND at = ?',
  );
  for (const { wallet, day, anchors, gasWei } of spentByDay(db)) {
    const row = counted.get(wallet, day);
    if (row?.anchors !== anchors || BigInt(row.gas_wei) !== gasWei) {
      yield `day ${day} of ${wallet} has ${anchors} anchors for ${gasWei} wei in the ledger`;
    }
  }
}
