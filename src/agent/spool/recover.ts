// Recovers the undamaged records of a damaged spool file.
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { syncFolderOf } from '../../base/durable-folder.ts';
import type { Outcome } from '../../proof/statements/statement.ts';
import type { Instant } from '../clock.ts';
import { PAGE_BYTES } from './database.ts';
import { checksumOf, RECORD_KINDS, type SpoolRecord } from './records.ts';
import { type PageAt, rowsOf, type Value } from './sqlite-pages.ts';
import type { Tables } from './tables.ts';

/**
 * Path for the new spool. The damaged file stays in place until the new one is complete, so a crash restarts
 * the recovery. Removes a damaged file of an earlier recovery.
 */
export function beginRecovery(file: string): string {
  const earlier = findDamaged(file);
  if (earlier !== null) removeDamaged(earlier);
  for (const suffix of ['', '-wal', '-journal']) {
    rmSync(`${file}.recovering${suffix}`, { force: true });
  }
  return `${file}.recovering`;
}

/** Replaces the damaged file by the complete new one. Returns the path of the damaged file. */
export function finishRecovery(file: string, wallMs: number): string {
  renameSync(`${file}.recovering`, `${file}.recovered`);
  return swapFiles(file, wallMs);
}

/** Finishes a recovery that a crash interrupted after the new file was complete. */
export function resumeRecovery(file: string, wallMs: number): void {
  if (existsSync(`${file}.recovered`)) swapFiles(file, wallMs);
}

function swapFiles(file: string, wallMs: number): string {
  const aside = `${file}.damaged-${wallMs}`;
  for (const suffix of ['-wal', '']) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${aside}${suffix}`);
  }
  renameSync(`${file}.recovered`, file);
  syncFolderOf(file);
  return aside;
}

/** A damaged file that was set aside for inspection. */
export interface DamagedFile {
  readonly file: string;
  /** The file and its write-ahead log. */
  readonly parts: readonly string[];
  readonly bytes: number;
}

/** Null if there is none. */
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

/** Limits of one commit, in records and bytes of text. They keep the write-ahead log of the new file short. */
const RECORDS_PER_COMMIT = 500;
const BYTES_PER_COMMIT = 256 * 1024;

/** Inserts the records into a new file in several commits, and returns their number. */
export function insertAll(fresh: Tables, records: Iterator<SpoolRecord>): number {
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

function insert({ tasks, samples, events, statements }: Tables, record: SpoolRecord): void {
  switch (record.kind) {
    case 'claim':
      if (isBefore(record, tasks.claim(record.id))) break;
      tasks.removeClaim(record.id);
      tasks.insertClaim(record);
      break;
    case 'completion':
      if (isBefore(record, tasks.completion(record.id))) break;
      tasks.removeCompletion(record.id);
      tasks.insertCompletion(record);
      break;
    case 'sample':
      samples.insert(record);
      break;
    case 'event':
      events.insert(record);
      break;
    case 'statement':
      // The key in use is not recovered, so the agent asks the service for the last number before it uses another one.
      statements.restore(record);
  }
}

/** Of two records under one id, the earlier one was refused and the later one counts. */
function isBefore(one: Instant, other: Instant | null): boolean {
  if (other === null) return false;
  return one.boot === other.boot ? one.monoMs < other.monoMs : one.wallMs < other.wallMs;
}

/**
 * Every record with a valid checksum in the pages of the file or its write-ahead log, once each. Deleted
 * records that are not overwritten yet are included. Sending them again changes nothing, because they have
 * ids.
 */
export function* recordsIn(file: string): Generator<SpoolRecord> {
  const seen = new Set<string>();
  for (const row of rowsIn(file)) {
    const record = recordIn(row);
    if (record === null) continue;
    // A task whose proof was refused may have a second, later one. A claim and its result may have statements of one moment.
    const text = record.kind === 'statement' ? record.body : '';
    const name = `${record.kind} ${record.id} ${record.boot} ${record.monoMs} ${text}`;
    if (seen.has(name)) continue;
    seen.add(name);
    yield record;
  }
}

/** Null if the row is not a record or its checksum does not match. */
function recordIn(row: Value[]): SpoolRecord | null {
  const [, kind, id, wallMs, boot, monoMs, crc] = row;
  // A version added the outcome after the body.
  const [body, outcome] = kind === 'completion' ? row.slice(9) : row.slice(-1);
  const known = RECORD_KINDS.find((one) => one === kind);
  if (known === undefined) return null;
  if (typeof id !== 'string' || typeof body !== 'string') return null;
  const record = {
    kind: known,
    id,
    wallMs: Number(wallMs),
    boot: Number(boot),
    monoMs: Number(monoMs),
    body,
    outcome: outcome as Outcome | null | undefined, // The checksum covers it.
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
    // An overflow chain may start in the file and continue in the log.
    for (const page of pages.all()) yield* rowsOf(page, newest);
  } finally {
    pages.close();
    frames.close();
  }
}

/** https://www.sqlite.org/fileformat2.html, section 4.1. A frame header starts with the page number. */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** The blocks of a file after its first `skipped` bytes. A missing file has none. */
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
