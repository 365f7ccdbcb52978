/**
 * The spool's file. The four tables of records begin with the same columns and end with `body`, and `crc`
 * covers what never changes of a row (`checksumOf`), so that `salvage.ts` knows a whole record wherever in
 * the file its page is.
 *
 * - `wall_ms`, `boot`, `mono_ms`: when the record was accepted, by the wall clock and by the monotonic clock of that boot.
 * - `claims.state`: `queued`, then `delivered` with the service's task in `answer`.
 * - `completions.id` is the task's; `state` is `queued`, then `accepted`; with its receipt the row leaves.
 * - `batches`: ranges of samples that stand in a request which may have been sent.
 * - `receipts.task`: the service's task, where its claim went through this agent.
 * - `refused`: records that the service will never take, each with its reason.
 * - `boots`: what the clocks said when the agent first ran in that boot; `epoch_ms` is the service's time when the
 *   monotonic clock was 0, null until it is known, and then it stays.
 */
export const schema = `
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

/** Of the schema; a file of a later one is refused. */
export const SCHEMA_VERSION = 1;
