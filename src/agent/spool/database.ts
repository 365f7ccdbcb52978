// Opens, locks and checks the spool's SQLite file.
import { statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { makeDurableFolder } from '../../base/durable-folder.ts';
import { keepPrivate } from '../../base/private-file.ts';
import { openSqlite, sqliteErrorKind } from '../../base/sqlite.ts';
import { SvcError } from '../../base/svc-error.ts';
import { DamagedRecord, RECORD_KINDS, type RecordRow, recordColumns, recordOf } from './records.ts';
import { upgrades } from './schema.ts';

/** Pages between checkpoints, and the size that the log is cut to. The budget includes the log. */
const WAL_PAGES = 128;
export const PAGE_BYTES = 4096;

const CACHE_KIB = 2_048;

/** Opens the file, creates it if needed and upgrades its schema. */
export function openDatabase(file: string): Database {
  keepPrivate(file);
  const db = openSqlite(file, { timeout: 0 });
  try {
    db.pragma('locking_mode = EXCLUSIVE');
    db.pragma(`page_size = ${PAGE_BYTES}`);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.pragma(`wal_autocheckpoint = ${WAL_PAGES}`);
    db.pragma(`journal_size_limit = ${WAL_PAGES * PAGE_BYTES}`);
    db.pragma(`cache_size = -${CACHE_KIB}`);
    db.transaction(() => prepareSchema(db)).immediate();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function prepareSchema(db: Database): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  for (const upgrade of upgrades.slice(version)) db.exec(upgrade);
  if (version <= upgrades.length) return;
  throw new SvcError('spool_unusable', 'The spool was written by a later version of svc-agent.', {
    hint: 'Run that version, or set another SVC_AGENT_STATE_DIR.',
  });
}

/**
 * Creates the folder and locks it for one agent. The operating system releases the lock when the process ends
 * in any way.
 * @throws SvcError `spool_locked` while another process holds it, `spool_unusable` if nothing can be written
 */
export function lockSpool(folder: string): { release(): void } {
  let lock: Database | undefined;
  try {
    makeDurableFolder(folder);
    const file = path.join(folder, 'lock');
    keepPrivate(file);
    lock = openSqlite(file, { timeout: 0 });
    const held = lock;
    held.pragma('locking_mode = EXCLUSIVE');
    held.exec('BEGIN EXCLUSIVE');
    return { release: () => held.close() };
  } catch (error) {
    lock?.close();
    if (sqliteErrorKind(error) === 'busy') {
      throw new SvcError('spool_locked', `Another svc-agent uses the spool in ${folder}.`, {
        hint: 'Stop it, or set another SVC_AGENT_STATE_DIR.',
        cause: error,
      });
    }
    throw unusable(folder, error);
  }
}

export function unusable(folder: string, cause: unknown): SvcError {
  if (cause instanceof SvcError) return cause;
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const message = `Cannot write the spool in SVC_AGENT_STATE_DIR ${folder} (${code}).`;
  return new SvcError('spool_unusable', message, {
    hint: 'Use a folder that svc-agent can write, on a disk with free space.',
    cause,
  });
}

/**
 * As root, becomes the owner of the folder until the returned function is called. The agent could not write
 * files that root creates there.
 */
export function becomeOwnerOf(folder: string): () => void {
  const owner = statSync(folder, { throwIfNoEntry: false });
  const { geteuid, getegid, seteuid, setegid } = process;
  if (owner === undefined || geteuid?.() !== 0 || !getegid || !seteuid || !setegid) return () => {};
  // Loads SQLite's native code now, because the owner may not be allowed to read root's copy.
  openSqlite(':memory:').close();
  const group = getegid();
  setegid(owner.gid);
  seteuid(owner.uid);
  return () => {
    seteuid(0);
    setegid(group);
  };
}

/**
 * Reads every page and record of the spool of a stopped agent, and changes nothing. Returns the number of
 * records; null if there is no spool yet.
 * @throws SvcError `spool_damaged`, `spool_locked`, `spool_unusable`
 */
export function checkSpool(folder: string): number | null {
  const file = path.join(folder, 'spool.db');
  let lock: { release(): void } | undefined;
  let db: Database | undefined;
  try {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
    lock = lockSpool(folder);
    db = openDatabase(file);
    const found = db.pragma('integrity_check(1)', { simple: true });
    if (found !== 'ok') throw damaged(file, found);
    return countRecords(db);
  } catch (error) {
    const isDamage = sqliteErrorKind(error) === 'damaged' || error instanceof DamagedRecord;
    throw isDamage ? damaged(file, error) : unusable(folder, error);
  } finally {
    db?.close();
    lock?.release();
  }
}

function countRecords(db: Database): number {
  let count = 0;
  for (const kind of RECORD_KINDS) {
    const outcome = kind === 'completion' ? ', outcome' : '';
    const rows = db.prepare<[], RecordRow>(`SELECT ${recordColumns}${outcome} FROM ${kind}s`);
    for (const row of rows.iterate()) {
      recordOf(row);
      count += 1;
    }
  }
  return count;
}

function damaged(file: string, cause: unknown): SvcError {
  return new SvcError('spool_damaged', `${file} is damaged.`, {
    hint: 'Start svc-agent, which sets the file aside and recovers intact records, and check the disk.',
    cause,
  });
}
