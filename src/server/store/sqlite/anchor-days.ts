import type { Database } from 'better-sqlite3';

const DAY_MS = 24 * 60 * 60_000;

interface Settled {
  wallet: string;
  taskId: string;
  chargeWei: bigint;
  at: number;
}

/** Counts settled anchors and their charge by day (UTC); must run inside a write. */
export function anchorDays(writer: Database): (settled: Settled) => void {
  const fleetOf = writer.prepare<[string], { fleet_id: string | null }>(
    `SELECT robots.fleet_id FROM tasks JOIN robots ON robots.id = tasks.robot_id
     WHERE tasks.id = ?`,
  );
  const gasOf = writer.prepare<[string, number], { gas_wei: string }>(
    'SELECT gas_wei FROM anchor_days WHERE scope = ? AND at = ?',
  );
  const save = writer.prepare<[string, number, string]>(
    `INSERT INTO anchor_days (scope, at, anchors, gas_wei) VALUES (?, ?, 1, ?)
     ON CONFLICT (scope, at) DO UPDATE SET anchors = anchors + 1, gas_wei = excluded.gas_wei`,
  );
  function count(scope: string, day: number, chargeWei: bigint): void {
    const before = BigInt(gasOf.get(scope, day)?.gas_wei ?? 0);
    save.run(scope, day, String(before + chargeWei));
  }
  return ({ wallet, taskId, chargeWei, at }) => {
    const day = Math.floor(at / DAY_MS) * DAY_MS;
    count(wallet, day, chargeWei);
    const fleetId = fleetOf.get(taskId)?.fleet_id ?? null;
    if (fleetId !== null) count(fleetId, day, chargeWei);
  };
}
