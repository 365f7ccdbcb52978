/** Opens a database after a power cut, and looks for what the server had answered. */
import { cpSync, existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/base/clock.ts';
import { openSqliteStore } from '../../../src/server/store/sqlite/open-store.ts';
import type { Fact } from './facts.ts';

/** What is wrong with a disk after a cut. */
export interface Findings {
  /** Facts that the disk does not show. */
  lost: Fact[];
  /** What the program found damaged, or could not open. */
  corrupt: string[];
}

/** For each kind of fact the keys on the disk. An `absent` fact holds where its key is not among them. */
export type FactKinds = Readonly<Record<string, { sql: string; absent?: true }>>;

const kinds: FactKinds = {
  account: { sql: 'SELECT lower(wallet) FROM accounts' },
  session: { sql: 'SELECT token_hash FROM sessions' },
  'ended session': { sql: 'SELECT token_hash FROM sessions', absent: true },
  robot: { sql: 'SELECT id FROM robots' },
  'deleted robot': { sql: 'SELECT id FROM robots', absent: true },
  'robot name': { sql: "SELECT id || ' ' || name FROM robots" },
  'robot key': { sql: "SELECT id || ' ' || key_hash FROM robots" },
  'ended key': { sql: 'SELECT key_hash FROM robots', absent: true },
  fleet: { sql: 'SELECT id FROM fleets' },
  task: { sql: 'SELECT id FROM tasks' },
  completion: { sql: "SELECT task_id || ' ' || proof_hash FROM completions" },
  receipt: { sql: 'SELECT task_id FROM receipts' },
  evidence: { sql: 'SELECT task_id FROM proofs' },
  erasure: { sql: 'SELECT task_id FROM proofs', absent: true },
  sample: { sql: "SELECT robot_id || ' ' || id FROM telemetry" },
  event: { sql: "SELECT robot_id || ' ' || id FROM events" },
  grant: { sql: "SELECT grant_id FROM ledger WHERE kind = 'grant'" },
  broadcast: { sql: 'SELECT tx_hash FROM variants' },
};

/** As a start of the server and `svc-server check` do. */
export async function checkServerDisk(root: string, facts: readonly Fact[]): Promise<Findings> {
  const file = path.join(root, 'data', 'svc.db');
  if (!existsSync(file)) return { lost: [...facts], corrupt: [] };
  const damage = damageOf(root);
  if (damage !== null) return { lost: [], corrupt: [damage] };
  const corrupt: string[] = [];
  try {
    const store = await openSqliteStore({
      path: file,
      clock: systemClock,
      serves: true,
      onFatal: (error) => corrupt.push(String(error)),
    });
    try {
      corrupt.push(
        ...(await store.checkInvariants()).map((violation) => JSON.stringify(violation)),
      );
    } finally {
      await store.close();
    }
  } catch (error) {
    return { lost: [...facts], corrupt: [...corrupt, String(error)] };
  }
  const db = new Database(file, { readonly: true });
  try {
    return { lost: lostOf(db, facts, kinds), corrupt };
  } finally {
    db.close();
  }
}

/** Of a copy, which SQLite may recover: the store ends its process when it reads a damaged file. */
function damageOf(root: string): string | null {
  const copy = `${root}-copy`;
  cpSync(root, copy, { recursive: true });
  try {
    const db = new Database(path.join(copy, 'data', 'svc.db'));
    try {
      const found = db.pragma('integrity_check(1)', { simple: true });
      return found === 'ok' ? null : `integrity_check: ${found}`;
    } finally {
      db.close();
    }
  } catch (error) {
    return String(error);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** The facts that the database does not show. */
export function lostOf(db: Database.Database, facts: readonly Fact[], kinds: FactKinds): Fact[] {
  const shown = new Map<string, Set<unknown>>();
  return facts.filter(({ kind, key }) => {
    const rule = kinds[kind];
    if (rule === undefined) throw new Error(`Nothing checks facts of the kind ${kind}.`);
    let keys = shown.get(rule.sql);
    if (keys === undefined) {
      keys = new Set(db.prepare(rule.sql).pluck().all());
      shown.set(rule.sql, keys);
    }
    return keys.has(key) === (rule.absent ?? false);
  });
}
