import { statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from 'better-sqlite3';
import { SvcError } from '../../base/svc-error.ts';
import { faultOf, lockSpool, openDatabase, unusable } from './open-database.ts';
import { DamagedRecord, type RecordRow, recordColumns, recordOf } from './records.ts';

/**
 * Reads every page and every record of the spool of a stopped agent, and answers how many records there are; null
 * where there is no spool yet. Records stay as they are, damaged or not.
 *
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
    const isDamage = faultOf(error) === 'damaged' || error instanceof DamagedRecord;
    throw isDamage ? damaged(file, error) : unusable(folder, error);
  } finally {
    db?.close();
    lock?.release();
  }
}

function countRecords(db: Database): number {
  let count = 0;
  for (const table of ['claims', 'completions', 'samples', 'events']) {
    const rows = db.prepare<[], RecordRow>(`SELECT ${recordColumns} FROM ${table}`);
    for (const row of rows.iterate()) {
      recordOf(row);
      count += 1;
    }
  }
  return count;
}

function damaged(file: string, cause: unknown): SvcError {
  return new SvcError('spool_damaged', `${file} is damaged.`, {
    hint: 'svc-agent sets it aside when it starts, and takes over what is whole. Look at the disk.',
    cause,
  });
}
