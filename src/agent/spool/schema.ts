import type { Database } from 'better-sqlite3';

/**
 * The spool's file. The four tables of records begin with the same columns and end with `body`, and `crc`
 * covers what never changes of a row (`checksumOf`), so that `salvage.ts` knows a whole record wherever in
 * the file its page is.
 *
 * - `wall_ms`, `boot`, `mono_ms`: when the record was accepted, by the wall clock and by the monotonic clock of that boot.
 * - `claims.state`: `queued`, then `delivered` with the service's task in `answer`.
 * - `completions.id` is the task's; `state` is `blocked` until its claim is delivered, `queued`, then `accepted`; with its
 *   receipt the row leaves.
 * - `batches`: ranges of samples that stand in a request which may have been sent.
 * - `receipts.task`: the service's task, where its claim went through this agent.
 * - `refused`: records that the service will never take, each with its reason.
 * - `boots`: what the clocks said when the agent first ran in that boot; `epoch_ms` is the service's time when the
 *   monotonic clock was 0, null until it is known, and then it stays.
 * - `totals`: how many rows there are and the bytes of their bodies, kept by triggers.
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

/** What is counted: the rows of a table, or those that `only` tells. */
const counted = {
  claims: { table: 'claims' },
  queued_claims: { table: 'claims', only: "state = 'queued'" },
  completions: { table: 'completions' },
  samples: { table: 'samples' },
  events: { table: 'events' },
  refused: { table: 'refused' },
  refused_tasks: { table: 'refused', only: "kind IN ('claim', 'completion')" },
} satisfies Record<string, { table: string; only?: string }>;

export type TotalName = keyof typeof counted;

function countingOf([name, { table, only = '1' }]: [string, { table: string; only?: string }]) {
  const add = (sign: '+' | '-', row: 'NEW' | 'OLD') =>
    `UPDATE totals SET count = count ${sign} 1, bytes = bytes ${sign} octet_length(${row}.body) WHERE name = '${name}'`;
  const inRow = (row: 'NEW' | 'OLD') => only.replace(/^(?=[a-z])/, `${row}.`);
  return `
INSERT INTO totals SELECT '${name}', count(*), coalesce(sum(octet_length(body)), 0) FROM ${table} WHERE ${only};
CREATE TRIGGER ${name}_in AFTER INSERT ON ${table} WHEN ${inRow('NEW')} BEGIN ${add('+', 'NEW')}; END;
CREATE TRIGGER ${name}_out AFTER DELETE ON ${table} WHEN ${inRow('OLD')} BEGIN ${add('-', 'OLD')}; END;`;
}

/** A claim that is delivered stays, and counts as queued no more, unless the service has lost it. */
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

/** What makes a spool of each version one of the next; from none to the first. */
export const upgrades: readonly string[] = [records, totals];

export interface Total {
  readonly count: number;
  /** Of the records' text. */
  readonly bytes: number;
}

/** How many records there are, as the spool's triggers keep it: what it costs to know does not grow with them. */
export class Totals {
  readonly #read;

  constructor(db: Database) {
    this.#read = db.prepare<[TotalName], Total>('SELECT count, bytes FROM totals WHERE name = ?');
  }

  of(name: TotalName): Total {
    return this.#read.get(name) ?? { count: 0, bytes: 0 };
  }

  /** Bytes of all that is kept of tasks. */
  taskBytes(): number {
    return (['claims', 'completions', 'refused_tasks'] as const).reduce(
      (sum, name) => sum + this.of(name).bytes,
      0,
    );
  }
}
