// The table of ops events.
import type { Database } from 'better-sqlite3';
import { type Dropped, droppedOf } from './limits.ts';
import {
  insertedColumns,
  insertedValues,
  type RecordRow,
  recordColumns,
  recordOf,
  type SpoolRecord,
  type StoredRecord,
  valuesOf,
} from './records.ts';

const DROPPED_AT_ONCE = 16;

/** Events that are not delivered. Every method runs inside the caller's transaction. */
export class EventTable {
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      insert: db.prepare(`INSERT INTO events (${insertedColumns}) VALUES (${insertedValues})`),
      read: db.prepare<[number, number], RecordRow>(
        `SELECT ${recordColumns} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`,
      ),
      oldestWithout: db.prepare<[string], RecordRow>(oldest('NOT IN')),
      oldestOf: db.prepare<[string], RecordRow>(oldest('IN')),
      remove: db.prepare('DELETE FROM events WHERE seq = ? AND id = ?'),
      oldest: db.prepare<[], number>('SELECT wall_ms FROM events ORDER BY seq LIMIT 1').pluck(),
    };
  }

  insert(record: SpoolRecord): void {
    this.#sql.insert.run(valuesOf(record));
  }

  /** Events after the number `after`, oldest first. @throws DamagedRecord */
  read(most: number, after = 0): StoredRecord[] {
    return this.#sql.read.all(after, most).map(recordOf);
  }

  /** The oldest event without these ids; null if there is none. @throws DamagedRecord */
  oldestWithout(ids: readonly string[]): StoredRecord | null {
    return firstOf(this.#sql.oldestWithout.get(JSON.stringify(ids)));
  }

  /** The oldest event with one of these ids; null if there is none. @throws DamagedRecord */
  oldestOf(ids: readonly string[]): StoredRecord | null {
    return firstOf(this.#sql.oldestOf.get(JSON.stringify(ids)));
  }

  /** Does nothing if another event has the number, as after a recovery. */
  remove({ seq, id }: Pick<StoredRecord, 'seq' | 'id'>): void {
    this.#sql.remove.run(seq, id);
  }

  /** Drops the oldest events; null without any. */
  makeRoom(): Dropped | null {
    const rows = this.#sql.read.all(0, DROPPED_AT_ONCE);
    if (rows.length === 0) return null;
    for (const row of rows) this.remove(row);
    return droppedOf(rows, rows.length);
  }

  /** Wall time at which the oldest event was accepted; null without any. */
  oldestMs(): number | null {
    return this.#sql.oldest.get() ?? null;
  }
}

function oldest(which: 'IN' | 'NOT IN'): string {
  return `SELECT ${recordColumns} FROM events WHERE id ${which} (SELECT value FROM json_each(?)) ORDER BY seq LIMIT 1`;
}

function firstOf(row: RecordRow | undefined): StoredRecord | null {
  return row === undefined ? null : recordOf(row);
}
