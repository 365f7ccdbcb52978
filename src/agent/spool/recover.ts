import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { hashCanonicalText } from '../../proof/hash.ts';
import type { Instant } from '../clock.ts';
import { PAGE_BYTES } from './database.ts';
import type { EventTable } from './events.ts';
import { checksumOf, type RecordKind, type SpoolRecord } from './records.ts';
import type { SampleTable } from './samples.ts';
import { type PageAt, rowsOf, type Value } from './sqlite-pages.ts';
import type { TaskTable } from './tasks.ts';

/**
 * Where a new spool is made from a damaged one, which stays where it is until the new one is whole: after a crash it
 * begins anew. A file that was set aside earlier goes.
 */
export function beginRecovery(file: string): string {
  const earlier = findDamaged(file);
  if (earlier !== null) removeDamaged(earlier);
  for (const suffix of ['', '-wal', '-journal']) {
    rmSync(`${file}.recovering${suffix}`, { force: true });
  }
  return `${file}.recovering`;
}

/** The new spool is whole: puts it in the place of the damaged one, and answers where that is kept. */
export function finishRecovery(file: string, wallMs: number): string {
  renameSync(`${file}.recovering`, `${file}.recovered`);
  return swapFiles(file, wallMs);
}

/** Ends a salvage that a crash cut short after the new spool was whole. */
export function resumeRecovery(file: string, wallMs: number): void {
  if (existsSync(`${file}.recovered`)) swapFiles(file, wallMs);
}

function swapFiles(file: string, wallMs: number): string {
  const aside = `${file}.damaged-${wallMs}`;
  for (const suffix of ['-wal', '']) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${aside}${suffix}`);
  }
  renameSync(`${file}.recovered`, file);
  syncFolder(path.dirname(file));
  return aside;
}

/** What is renamed in it stays so after a loss of power. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** A damaged file that was set aside, to be looked at. */
export interface DamagedFile {
  readonly file: string;
  /** Itself and its write-ahead log. */
  readonly parts: readonly string[];
  readonly bytes: number;
}

/** Null where none is kept. */
export function findDamaged(file: string): DamagedFile | null {
  const parts = readdirSync(path.dirname(file))
    .filter((name) => name.startsWith(`${path.basename(file)}.damaged-`))
    .map((name) => path.join(path.dirname(file), name))
    .sort();
  const [first] = parts;
  if (first === undefined) return null;
  return { file: first, parts, bytes: parts.reduce((sum, part) => sum + statSync(part).size, 0) };
}

export function removeDamaged({ parts }: DamagedFile): void {
  for (const part of parts) rmSync(part, { force: true });
}

/** Records of a damaged file in one commit, and about the bytes of their text: the log beside the new file is no longer. */
const RECORDS_PER_COMMIT = 500;
const BYTES_PER_COMMIT = 256 * 1024;

/** Where recovered records go. */
interface RecordTables {
  readonly db: Database;
  readonly tasks: TaskTable;
  readonly samples: SampleTable;
  readonly events: EventTable;
}

/** Inserts the records, in commits small enough for the budget of the log, and returns how many there were. */
export function insertAll(fresh: RecordTables, records: Iterator<SpoolRecord>): number {
  let count = 0;
  for (let more = true; more; ) {
    fresh.db.transaction(() => {
      let bytes = 0;
      for (let i = 0; i < RECORDS_PER_COMMIT && bytes < BYTES_PER_COMMIT && more; i++) {
        const { done, value } = records.next();
        more = !done;
        if (!value) continue;
        insert(fresh, value);
        count += 1;
        bytes += value.body.length;
      }
    })();
  }
  return count;
}

function insert({ tasks, samples, events }: RecordTables, record: SpoolRecord): void {
  switch (record.kind) {
    case 'claim':
      if (isBefore(record, tasks.claim(record.id))) break;
      tasks.removeClaim(record.id);
      tasks.insertClaim(record);
      break;
    case 'completion':
      if (isBefore(record, tasks.completion(record.id))) break;
      tasks.removeCompletion(record.id);
      tasks.insertCompletion(record, hashCanonicalText(record.body));
      break;
    case 'sample':
      samples.insert(record);
      break;
    case 'event':
      events.insert(record);
  }
}

/** Of two under one id the first was refused: the later one counts. */
function isBefore(one: Instant, other: Instant | null): boolean {
  if (other === null) return false;
  return one.boot === other.boot ? one.monoMs < other.monoMs : one.wallMs < other.wallMs;
}

/**
 * Every record that stands in the pages of the file, or of its write-ahead log, with a checksum that holds, once. Records
 * that left and are not yet overwritten are among them: to send them again changes nothing, for they have ids.
 */
export function* recordsIn(file: string): Generator<SpoolRecord> {
  const seen = new Set<string>();
  for (const row of rowsIn(file)) {
    const record = recordIn(row);
    if (record === null) continue;
    // A task whose proof was refused may have another, accepted later.
    const name = `${record.kind} ${record.id} ${record.boot} ${record.monoMs}`;
    if (seen.has(name)) continue;
    seen.add(name);
    yield record;
  }
}

const KINDS: ReadonlySet<string> = new Set<RecordKind>(['claim', 'completion', 'sample', 'event']);

/** Null where the row is none of a record, or not what was written. */
function recordIn(row: Value[]): SpoolRecord | null {
  const [, kind, id, wallMs, boot, monoMs, crc] = row;
  const body = row.at(-1);
  if (typeof kind !== 'string' || !KINDS.has(kind)) return null;
  if (typeof id !== 'string' || typeof body !== 'string') return null;
  const record = {
    kind: kind as RecordKind, // One of the four.
    id,
    wallMs: Number(wallMs),
    boot: Number(boot),
    monoMs: Number(monoMs),
    body,
  };
  return checksumOf(record) === crc ? record : null;
}

function* rowsIn(file: string): Generator<Value[]> {
  const pages = openPages(file, 0, PAGE_BYTES);
  const frames = openPages(`${file}-wal`, LOG_HEADER_BYTES, FRAME_HEADER_BYTES + PAGE_BYTES);
  try {
    const inFile: PageAt = (number) => pages.read(number - 1);
    for (const page of pages.all()) yield* rowsOf(page, inFile);
    const logged = new Map<number, number>();
    for (const [i, frame] of [...frames.all()].entries()) logged.set(frame.readUInt32BE(0), i);
    const newest: PageAt = (number) => {
      const frame = frames.read(logged.get(number) ?? -1);
      return frame?.subarray(FRAME_HEADER_BYTES) ?? inFile(number);
    };
    for (const frame of frames.all()) yield* rowsOf(frame.subarray(FRAME_HEADER_BYTES), newest);
    // A chain may begin in the file and go on in the log.
    for (const page of pages.all()) yield* rowsOf(page, newest);
  } finally {
    pages.close();
    frames.close();
  }
}

/** https://www.sqlite.org/fileformat2.html, section 4.1; a frame's header begins with the number of its page. */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** The pieces of a file that follow its first `skipped` bytes; a file that is not there has none. */
function openPages(file: string, skipped: number, bytes: number) {
  const fd = existsSync(file) ? openSync(file, 'r') : null;
  const count = fd === null ? 0 : Math.floor((fstatSync(fd).size - skipped) / bytes);
  const read = (index: number): Buffer | null => {
    if (fd === null || index < 0 || index >= count) return null;
    const piece = Buffer.alloc(bytes);
    readSync(fd, piece, 0, bytes, skipped + index * bytes);
    return piece;
  };
  return {
    read,
    *all(): Generator<Buffer> {
      for (let i = 0; i < count; i++) {
        const piece = read(i);
        if (piece !== null) yield piece;
      }
    },
    close: () => (fd === null ? undefined : closeSync(fd)),
  };
}
