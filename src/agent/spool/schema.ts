// The spool's tables, and the triggers that count their rows.
import type { Database } from 'better-sqlite3';

/**
 * The tables of records start with the same columns and end with `body`, but for the outcome of a completion. `crc`
 * covers the columns that never change (`checksumOf`), so that `recover.ts` recognizes a whole record on any page of the
 * file.
 * - `wall_ms`, `boot`, `mono_ms`: when the record was accepted, by the wall clock and by the boot's monotonic clock.
 * - `claims.state`: `queued`, then `delivered` with the service's task in `answer`.
 * - `completions.id` is the id of the task. `state` is `blocked` until the claim is delivered, then `queued`,
 *   then `accepted`. The row is deleted when the receipt arrives.
 * - `batches`: ranges of samples in a request that may have been sent.
 * - `receipts.task`: the service's task, if the claim went through this agent.
 * - `refused`: records that the service will never accept, with the reason. `boot` and `mono_ms` are null if an earlier
 *   version set the record aside.
 * - `boots`: the clocks at the agent's first start of the boot. `epoch_ms` is the service's time when the
 *   monotonic clock was 0. It is null until it is known, and does not change after that.
 * - `totals`: number of rows and bytes of their bodies, kept by triggers.
 * - `promises.id` is the id of the task. The columns are those of `StoredPromise`.
 * - `statements.body`: what is signed, and the `occurred_at` of a claim. `signature` is null until it is made.
 */
const records = `
CREATE TABLE claims (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT UNIQUE, wall_ms INTEGER, boot INTEGER,
  mono_ms INTEGER, crc INTEGER, state TEXT, answer TEXT, body TEXT);
CREATE TABLE completions (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT UNIQUE, wall_ms INTEGER, boot INTEGER,
  mono_ms INTEGER, crc INTEGER, proof_hash TEXT, state TEXT, body TEXT);
CREATE TABLE samples (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT, wall_ms INTEGER, boot INTEGER,
  mono_ms INTEGER, crc INTEGER, body TEXT);
CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT, wall_ms INTEGER, boot INTEGER,
  mono_ms INTEGER, crc INTEGER, body TEXT);
CREATE TABLE batches (first_seq INTEGER PRIMARY KEY, last_seq INTEGER);
CREATE TABLE receipts (seq INTEGER PRIMARY KEY, task_id TEXT UNIQUE, proof_hash TEXT, verification TEXT,
  task TEXT, settled_ms INTEGER);
CREATE TABLE refused (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT, code TEXT, message TEXT, wall_ms INTEGER,
  body TEXT);
CREATE TABLE boots (seq INTEGER PRIMARY KEY, boot INTEGER UNIQUE, wall_ms INTEGER, mono_ms INTEGER,
  epoch_ms INTEGER);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
PRAGMA user_version = 1;
`;

/** Rows that are counted: all of a table, or those that match `only`. */
const counted = {
  claims: { table: 'claims' },
  queued_claims: { table: 'claims', only: "state = 'queued'" },
  completions: { table: 'completions' },
  samples: { table: 'samples' },
  events: { table: 'events' },
  refused: { table: 'refused' },
  refused_tasks: { table: 'refused', only: "kind IN ('claim', 'completion')" },
} satisfies Record<string, { table: string; only?: string }>;

type TotalName = keyof typeof counted | 'statements';

function countingOf([name, { table, only = '1' }]: [string, { table: string; only?: string }]) {
  const add = (sign: '+' | '-', row: 'NEW' | 'OLD') =>
    `UPDATE totals SET count = count ${sign} 1, bytes = bytes ${sign} octet_length(${row}.body) WHERE name = '${name}'`;
  const inRow = (row: 'NEW' | 'OLD') => only.replace(/^(?=[a-z])/, `${row}.`);
  return `
INSERT INTO totals SELECT '${name}', count(*), coalesce(sum(octet_length(body)), 0) FROM ${table} WHERE ${only};
CREATE TRIGGER ${name}_in AFTER INSERT ON ${table} WHEN ${inRow('NEW')} BEGIN ${add('+', 'NEW')}; END;
CREATE TRIGGER ${name}_out AFTER DELETE ON ${table} WHEN ${inRow('OLD')} BEGIN ${add('-', 'OLD')}; END;`;
}

/** A delivered claim is kept but not counted as queued, unless the service loses it. */
const totals = `
CREATE TABLE totals (name TEXT PRIMARY KEY, count INTEGER, bytes INTEGER) WITHOUT ROWID;
${Object.entries(counted).map(countingOf).join('')}
CREATE TRIGGER claims_delivered AFTER UPDATE OF state ON claims
  WHEN OLD.state = 'queued' AND NEW.state <> 'queued' BEGIN
  UPDATE totals SET count = count - 1, bytes = bytes - octet_length(NEW.body) WHERE name = 'queued_claims'; END;
CREATE TRIGGER claims_requeued AFTER UPDATE OF state ON claims
  WHEN OLD.state <> 'queued' AND NEW.state = 'queued' BEGIN
  UPDATE totals SET count = count + 1, bytes = bytes + octet_length(NEW.body) WHERE name = 'queued_claims'; END;
UPDATE completions SET state = 'blocked'
  WHERE state = 'queued' AND id IN (SELECT id FROM claims WHERE state = 'queued');
CREATE INDEX claims_queued ON claims (seq) WHERE state = 'queued';
CREATE INDEX completions_by_state ON completions (state, seq);
PRAGMA user_version = 2;
`;

/** A record that was set aside can be sent again with the same time. */
const refusedClocks = `
ALTER TABLE refused ADD COLUMN boot INTEGER;
ALTER TABLE refused ADD COLUMN mono_ms INTEGER;
PRAGMA user_version = 3;
`;

/**
 * Statements, numbered in the commit that accepts their claim or completion. They leave with the receipt of their task, or
 * with a delivered claim without completion. The last one of each key stays: its number must not be used again.
 */
const statements = `
ALTER TABLE completions ADD COLUMN outcome TEXT;
ALTER TABLE refused ADD COLUMN outcome TEXT;
CREATE TABLE statements (seq INTEGER PRIMARY KEY, kind TEXT, id TEXT, wall_ms INTEGER, boot INTEGER,
  mono_ms INTEGER, crc INTEGER, kid TEXT, number INTEGER, type TEXT, signed_hash TEXT, signature TEXT, body TEXT,
  UNIQUE (kid, number));
CREATE TABLE promises (id TEXT PRIMARY KEY, text TEXT, arrived_ms INTEGER, due_ms INTEGER, problem TEXT);
CREATE INDEX promises_due ON promises (due_ms);
CREATE INDEX promises_problem ON promises (id) WHERE problem IS NOT NULL;
CREATE INDEX statements_by_task ON statements (id, type);
CREATE INDEX statements_unsigned ON statements (kid, number) WHERE signature IS NULL;
${countingOf(['statements', { table: 'statements' }])}
${trimmingOf('receipts', 'task_id')}
${trimmingOf(
  'claims',
  'id',
  `OLD.state = 'delivered' AND NOT EXISTS (SELECT 1 FROM receipts WHERE task_id = OLD.id)
  AND NOT EXISTS (SELECT 1 FROM completions WHERE id = OLD.id) AND NOT EXISTS (SELECT 1 FROM refused WHERE id = OLD.id)`,
)}
PRAGMA user_version = 4;
`;

function trimmingOf(table: string, column: string, only = '1'): string {
  return `CREATE TRIGGER statements_of_${table} AFTER DELETE ON ${table} WHEN ${only} BEGIN
  DELETE FROM statements WHERE id = OLD.${column}
    AND number < (SELECT max(number) FROM statements newer WHERE newer.kid = statements.kid); END;`;
}

/** The statements that upgrade a spool from each version to the next, starting with an empty file. */
export const upgrades: readonly string[] = [records, totals, refusedClocks, statements];

export interface Total {
  readonly count: number;
  /** Bytes of the records' JSON text. */
  readonly bytes: number;
}

/** Reads the counts that triggers keep, so that the cost does not grow with the number of records. */
export class Totals {
  readonly #read;

  constructor(db: Database) {
    this.#read = db.prepare<[TotalName], Total>('SELECT count, bytes FROM totals WHERE name = ?');
  }

  of(name: TotalName): Total {
    return this.#read.get(name) ?? { count: 0, bytes: 0 };
  }

  /** Bytes of all claims and completions, refused ones included, and of their statements. */
  taskBytes(): number {
    return (['claims', 'completions', 'refused_tasks', 'statements'] as const).reduce(
      (sum, name) => sum + this.of(name).bytes,
      0,
    );
  }
}
