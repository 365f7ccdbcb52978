// Reads a SQLite database for a move to PostgreSQL, and marks it as moved.

import type { Database } from 'better-sqlite3';
import { isSqliteError, openSqlite } from '../../../../base/sqlite.ts';
import { SvcError } from '../../../../base/svc-error.ts';
import {
  type PageSize,
  sizeOf,
  type TransferRow,
  type TransferSource,
  type TransferTable,
} from '../../transfer.ts';
import { canonicalPath, lockDatabase, requireDatabase } from '../engine/connections.ts';
import { requireSchema } from '../engine/migrate.ts';
import { migrations } from '../migrations.ts';
import { refuseUnfinishedRestore } from './backup.ts';

/**
 * Locks and opens a database for export. `target` names the PostgreSQL database without its password. A database that
 * is already marked can be moved to the same target again.
 *
 * @throws SvcError `database_missing`, `database_locked` while a server runs, `database_moved`, `schema_too_old`,
 *   `schema_too_new`, `database_foreign`.
 */
export function openExport(path: string, target: string): TransferSource & { close(): void } {
  const existing = canonicalPath(path, { create: false });
  refuseUnfinishedRestore(existing);
  requireDatabase(existing);
  const lock = lockDatabase(existing);
  const db = openSqlite(existing);
  const close = () => {
    db.close();
    lock.release();
  };
  let wasMarked: boolean;
  try {
    db.pragma('synchronous = FULL');
    requireSchema(db, migrations);
    wasMarked = exportedTo(db) === target;
    if (!wasMarked) refuseExported(db);
  } catch (error) {
    close();
    if (isSqliteError(error) && error.code === 'SQLITE_NOTADB') {
      throw new SvcError('database_foreign', `${existing} is not an SQLite database.`, {
        cause: error,
      });
    }
    throw error;
  }
  return {
    wasMarked,
    columnsOf: (name) => {
      const columns = db.prepare(`SELECT * FROM ${sourceOf(name)}`).columns();
      return columns.map((column) => column.name);
    },
    *pages({ name, key, columns }: TransferTable, most: PageSize) {
      const rows = db
        .prepare<[], TransferRow>(
          `SELECT ${columns.join(', ')} FROM ${sourceOf(name)} ORDER BY ${key.join(', ')}`,
        )
        .raw()
        .iterate();
      let page: TransferRow[] = [];
      let bytes = 0;
      for (const row of rows) {
        page.push(row);
        bytes += sizeOf(row);
        if (page.length < most.rows && bytes < most.bytes) continue;
        yield page;
        page = [];
        bytes = 0;
      }
      if (page.length > 0) yield page;
    },
    markExported: () => {
      if (exportedTo(db) !== null) return;
      db.transaction(() => {
        db.exec('CREATE TABLE moved (target TEXT NOT NULL) STRICT');
        db.prepare('INSERT INTO moved VALUES (?)').run(target);
      }).immediate();
    },
    takeBackMark: () => db.exec('DROP TABLE IF EXISTS moved'),
    close,
  };
}

/** SQLite keeps the keys of the evidence in a table of their own. */
function sourceOf(name: string): string {
  return name === 'proofs' ? 'proofs JOIN proof_keys ON proof_keys.id = proofs.key_id' : name;
}

/** @throws SvcError `database_moved`. */
export function refuseExported(db: Database): void {
  const target = exportedTo(db);
  if (target === null) return;
  throw new SvcError('database_moved', `The data of this database was moved to ${target}.`, {
    hint: 'Set SVC_DATABASE_URL to the new database. Never start a server on both.',
  });
}

function exportedTo(db: Database): string | null {
  const mark = db.prepare(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'moved'`);
  if (mark.get() === undefined) return null;
  const row = db.prepare<[], { target: string }>('SELECT target FROM moved').get();
  return row?.target ?? null;
}
