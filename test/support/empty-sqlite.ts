import { copyFile, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';

let made: Promise<string> | undefined;

/** Puts a database with the schema and nothing else at `file`: half the time that a store takes to make its own. */
export async function copyEmptySqlite(file: string): Promise<void> {
  made ??= makeEmpty();
  await mkdir(path.dirname(file), { recursive: true });
  await copyFile(await made, file);
  const copy = new Database(file);
  copy.pragma('synchronous = OFF');
  copy.exec('UPDATE cursor_key SET key = randomblob(32)');
  copy.close();
}

async function makeEmpty(): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'svc-empty-')), 'svc.db');
  const store = await openSqliteStore({
    path: file,
    clock: systemClock,
    serves: true,
    onFatal: (error) => {
      throw error;
    },
  });
  await store.close();
  return file;
}
