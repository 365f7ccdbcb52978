import { mkdirSync } from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { nativeModuleFault } from '../../base/native-module.ts';
import { SvcError } from '../../base/svc-error.ts';
import { upgrades } from './schema.ts';

/** A checkpoint follows so many pages, and cuts the log back to as much: what the log adds to the budget. */
const WAL_PAGES = 128;
export const PAGE_BYTES = 4096;

const CACHE_KIB = 2_048;

/** The spool's file, made if it is not there. */
export function openDatabase(file: string): Database.Database {
  const db = new Database(file, { timeout: 0 });
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

function prepareSchema(db: Database.Database): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  for (const upgrade of upgrades.slice(version)) db.exec(upgrade);
  if (version <= upgrades.length) return;
  throw new SvcError('spool_unusable', 'The spool was written by a later version of svc-agent.', {
    hint: 'Run that version, or give this one another SVC_AGENT_STATE_DIR.',
  });
}

/**
 * Makes the spool's folder and holds it for one agent. The operating system lets go when the process ends, however it ends.
 *
 * @throws SvcError `spool_locked` while another process holds it, `spool_unusable` where nothing can be written.
 */
export function lockSpool(folder: string): { release(): void } {
  let lock: Database.Database | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    lock = new Database(path.join(folder, 'lock'), { timeout: 0 });
    const held = lock;
    held.pragma('locking_mode = EXCLUSIVE');
    held.exec('BEGIN EXCLUSIVE');
    return { release: () => held.close() };
  } catch (error) {
    lock?.close();
    if (faultOf(error) === 'busy') {
      throw new SvcError('spool_locked', `Another svc-agent uses the spool in ${folder}.`, {
        hint: 'Stop it, or give this one another SVC_AGENT_STATE_DIR.',
        cause: error,
      });
    }
    throw unusable(folder, error);
  }
}

export function unusable(folder: string, cause: unknown): SvcError {
  if (cause instanceof SvcError) return cause;
  const fault = nativeModuleFault(cause);
  if (fault !== null) return fault;
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  return new SvcError('spool_unusable', `The spool in ${folder} cannot be written (${code}).`, {
    hint: 'SVC_AGENT_STATE_DIR must be a folder that svc-agent may write, on a disk with room.',
    cause,
  });
}

export type SpoolFault = 'busy' | 'damaged' | 'full' | 'other';

/** What an error of SQLite means for the spool; null when it is none of SQLite's. */
export function faultOf(error: unknown): SpoolFault | null {
  if (!(error instanceof Database.SqliteError)) return null;
  if (/^SQLITE_(BUSY|LOCKED)/.test(error.code)) return 'busy';
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(error.code)) return 'damaged';
  if (error.code === 'SQLITE_FULL') return 'full';
  return 'other';
}
