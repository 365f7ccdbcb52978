// The thread of checkpoints.ts. JavaScript, because Node does not run a thread's TypeScript in the tests.

import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** Waits for no lock: what is locked now is tried again. */
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
