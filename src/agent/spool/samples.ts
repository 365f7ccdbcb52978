// The table of samples: batches for requests, and thinning when the budget is full.
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

/** The samples of one request, in order. The numbers stay the same when some of its samples are removed. */
export interface Batch {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** Samples this new, counted in records, are thinned last. */
const RECENT = 3600;
/** One sample in 2, 4 and then 8 is kept, before a whole period is dropped. */
const THINNINGS = 3;
const THINNED_AT_ONCE = 256;
/** Limit by text size, because the kept rows are written again. Bytes. */
const THINNED_BYTES = 128 * 1024;
const DROPPED_AT_ONCE = 64;

/** Samples that are not delivered. Every method runs inside the caller's transaction. */
export class SampleTable {
  readonly #sql;

  constructor(db: Database) {
    this.#sql = {
      insert: db.prepare(`INSERT INTO samples (${insertedColumns}) VALUES (${insertedValues})`),
      read: db.prepare<[number, number, number], RecordRow>(
        `SELECT ${recordColumns} FROM samples WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`,
      ),
      oldest: db.prepare<[number, number, number], { seq: number }>(
        'SELECT seq FROM samples WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?',
      ),
      newest: db.prepare<[number, number], { seq: number }>(
        'SELECT seq FROM samples WHERE seq > ? ORDER BY seq DESC LIMIT ?',
      ),
      remove: db.prepare('DELETE FROM samples WHERE seq BETWEEN ? AND ?'),
      ends: db.prepare<[], { first: number | null; last: number | null }>(
        'SELECT (SELECT min(seq) FROM samples) AS first, (SELECT max(seq) FROM samples) AS last',
      ),
      wallOf: db.prepare<[number], number>('SELECT wall_ms FROM samples WHERE seq = ?').pluck(),
      batches: db.prepare<[], Batch>(
        'SELECT first_seq AS firstSeq, last_seq AS lastSeq FROM batches ORDER BY first_seq',
      ),
      thinned: db.prepare<[], string>("SELECT value FROM meta WHERE name = 'thinned'").pluck(),
      noteThinned: db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('thinned', ?)"),
      addBatch: db.prepare('INSERT INTO batches (first_seq, last_seq) VALUES (?, ?)'),
      removeBatch: db.prepare('DELETE FROM batches WHERE first_seq = ?'),
    };
  }

  insert(record: SpoolRecord): void {
    this.#sql.insert.run(valuesOf(record));
  }

  /** Null without samples. */
  ends(): { first: number; last: number } | null {
    const { first, last } = this.#sql.ends.get() ?? {};
    return typeof first === 'number' && typeof last === 'number' ? { first, last } : null;
  }

  /** Wall time at which the oldest sample was accepted; null without samples. */
  oldestMs(): number | null {
    const ends = this.ends();
    return ends === null ? null : (this.#sql.wallOf.get(ends.first) ?? null);
  }

  batches(): Batch[] {
    return this.#sql.batches.all();
  }

  /** The samples of a batch. @throws DamagedRecord */
  read({ firstSeq, lastSeq }: Batch): StoredRecord[] {
    return this.#sql.read.all(firstSeq, lastSeq, lastSeq - firstSeq + 1).map(recordOf);
  }

  /** Puts the newest samples that have no batch into one; null without any. */
  batchNewest(most: number): Batch | null {
    const above = this.batches().at(-1)?.lastSeq ?? 0;
    const rows = this.#sql.newest.all(above, most);
    const [newest, oldest] = [rows[0], rows.at(-1)];
    return newest && oldest ? this.#addBatch(oldest.seq, newest.seq) : null;
  }

  /** Puts the oldest samples that have no batch into one; null without any. */
  batchOldest(most: number): Batch | null {
    const gap = this.#firstGap();
    if (gap === null) return null;
    const rows = this.#sql.oldest.all(gap.from, gap.to, most);
    const [oldest, newest] = [rows[0], rows.at(-1)];
    return newest && oldest ? this.#addBatch(oldest.seq, newest.seq) : null;
  }

  /** Whether more than the newest `most` samples have no batch. */
  hasUnbatchedBefore(most: number): boolean {
    const above = this.batches().at(-1)?.lastSeq ?? 0;
    const gap = this.#firstGap();
    if (gap !== null && gap.to < above) return true;
    return this.#sql.newest.all(above, most + 1).length > most;
  }

  /** Removes the batch and its samples. */
  remove({ firstSeq, lastSeq }: Batch): void {
    this.#sql.remove.run(firstSeq, lastSeq);
    this.#sql.removeBatch.run(firstSeq);
    this.#capThinned();
  }

  /** Splits a batch; null if it holds a single sample. */
  halve(batch: Batch): [Batch, Batch] | null {
    const rows = this.#sql.oldest.all(batch.firstSeq, batch.lastSeq, Number.MAX_SAFE_INTEGER);
    const half = Math.ceil(rows.length / 2);
    const [end, middle] = [rows[half - 1], rows[half]];
    if (end === undefined || middle === undefined) return null;
    this.#sql.removeBatch.run(batch.firstSeq);
    // Each half ends with an existing sample, because a number beyond it may be given to a new one.
    return [this.#addBatch(batch.firstSeq, end.seq), this.#addBatch(middle.seq, batch.lastSeq)];
  }

  /**
   * One step of dropping samples: of those that were never sent, first every second of the oldest, and after several
   * rounds of that the oldest themselves. Then those that may have been sent, which wait for a retry, oldest batch first.
   * Null if only the newest sample is left.
   */
  makeRoom(): Dropped | null {
    const last = this.ends()?.last ?? 0;
    const thinned = this.#thinned();
    for (const [level, from] of thinned.entries()) {
      const dropped = this.#thinNext(from, last - RECENT, level, thinned);
      if (dropped !== null) return dropped;
    }
    const gap = this.#firstGap();
    if (gap === null) return this.#dropBatch(last);
    const rows = this.#sql.read.all(gap.from, gap.to, DROPPED_AT_ONCE);
    const dropped = this.#drop(rows, []);
    this.#capThinned();
    return dropped;
  }

  /** Drops the oldest batch, but for the newest sample: its number would be given to a new one. Null without any. */
  #dropBatch(newest: number): Dropped | null {
    for (const batch of this.batches()) {
      const end = Math.min(batch.lastSeq, newest - 1);
      const rows = this.#sql.read.all(batch.firstSeq, end, Number.MAX_SAFE_INTEGER);
      const [first, last] = [rows[0], rows.at(-1)];
      if (batch.lastSeq < newest) this.#sql.removeBatch.run(batch.firstSeq);
      if (first === undefined || last === undefined) continue;
      this.#sql.remove.run(first.seq, last.seq);
      return droppedOf(rows, rows.length);
    }
    return null;
  }

  /** The number that each round of thinning has reached. */
  #thinned(): number[] {
    const text = this.#sql.thinned.get();
    return text === undefined ? new Array(THINNINGS).fill(0) : JSON.parse(text);
  }

  /** New samples may reuse numbers after the newest one. No round has thinned those. */
  #capThinned(): void {
    const next = (this.ends()?.last ?? 0) + 1;
    const thinned = this.#thinned();
    if (thinned.every((at) => at <= next)) return;
    this.#sql.noteThinned.run(JSON.stringify(thinned.map((at) => Math.min(at, next))));
  }

  /**
   * Continues a round until samples are dropped, and stores its progress in `thinned`; null if nothing is
   * left to thin.
   */
  #thinNext(from: number, to: number, level: number, thinned: number[]): Dropped | null {
    let at = from;
    let dropped: Dropped | null = null;
    while (dropped === null) {
      const gap = this.#firstGap(at);
      const free = gap === null ? [] : this.#readSome(gap.from, Math.min(gap.to, to));
      const end = free.at(-1);
      if (end === undefined) break;
      at = end.seq + 1;
      const kept = free.filter(({ seq }) => seq % 2 ** (level + 1) === 0);
      dropped = this.#drop(free, kept);
    }
    if (at > from) {
      thinned[level] = at;
      this.#sql.noteThinned.run(JSON.stringify(thinned));
    }
    return dropped;
  }

  #readSome(from: number, to: number): RecordRow[] {
    const rows: RecordRow[] = [];
    let bytes = 0;
    for (const row of this.#sql.read.iterate(from, to, THINNED_AT_ONCE)) {
      rows.push(row);
      bytes += row.body.length;
      if (bytes >= THINNED_BYTES) break;
    }
    return rows;
  }

  /** Drops `rows` except for `kept`. Writing those again frees whole pages. */
  #drop(rows: RecordRow[], kept: RecordRow[]): Dropped | null {
    const [first, last] = [rows[0], rows.at(-1)];
    if (!first || !last || kept.length === rows.length) return null;
    this.#sql.remove.run(first.seq, last.seq);
    for (const row of kept) this.#sql.insert.run(row);
    return droppedOf(rows, rows.length - kept.length);
  }

  #addBatch(firstSeq: number, lastSeq: number): Batch {
    this.#sql.addBatch.run(firstSeq, lastSeq);
    return { firstSeq, lastSeq };
  }

  /** The first range of numbers, from `start` on, that has samples without a batch. */
  #firstGap(start = 0): { from: number; to: number } | null {
    let from = start;
    for (const { firstSeq, lastSeq } of this.batches()) {
      if (lastSeq < from) continue;
      // Batches often follow each other.
      if (firstSeq > from && this.#sql.oldest.get(from, firstSeq - 1, 1))
        return { from, to: firstSeq - 1 };
      from = lastSeq + 1;
    }
    const to = Number.MAX_SAFE_INTEGER;
    return this.#sql.oldest.get(from, to, 1) ? { from, to } : null;
  }
}
