// The thread that makes the checkpoints of checkpoints.ts. JavaScript: Node.js runs no TypeScript thread in the tests.

import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** Timeout 0: if a lock is held, a later checkpoint tries again. */
const db = new Database(workerData.path, { fileMustExist: true, timeout: 0 });
db.pragma('synchronous = FULL');

parentPort?.on('message', (/** @type {'PASSIVE' | 'RESTART' | 'close'} */ order) => {
  if (order === 'close') {
    db.close();
    parentPort?.close();
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
