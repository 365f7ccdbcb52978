// The thread that makes the checkpoints of checkpoints.ts. JavaScript: Node.js runs no TypeScript thread in the tests.

import { statSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** Timeout 0: if a lock is held, a later checkpoint tries again. */
const db = new Database(workerData.path, { fileMustExist: true, timeout: 0 });
// Checked before the first statement, which opens the log: a checkpoint of another file would destroy it.
const isReplaced = areReplaced();
if (!isReplaced) db.pragma('synchronous = FULL');

parentPort?.on('message', (/** @type {'PASSIVE' | 'RESTART' | 'close'} */ order) => {
  if (order === 'close') {
    db.close();
    parentPort?.close();
    return;
  }
  if (isReplaced) {
    parentPort?.postMessage({ code: 'SQLITE_READONLY_DBMOVED', message: 'the file was replaced' });
    return;
  }
  try {
    db.pragma(`wal_checkpoint(${order})`);
    parentPort?.postMessage(null);
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    parentPort?.postMessage({ code: error.code, message: error.message });
  }
});

/** As `areReplaced` in file-identity.ts. */
function areReplaced() {
  return workerData.files.some((/** @type {[string, string | null]} */ [file, opened]) => {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    return opened !== (found === undefined ? null : `${found.dev}:${found.ino}`);
  });
}
