// Runs reads on a snapshot of durable commits.

import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../../base/clock.ts';
import { sqliteErrorKind } from '../../../../base/sqlite.ts';
import { storageUnavailable } from '../../../ports/errors.ts';
import type { Work } from '../../db/database.ts';
import { isFatal } from './connections.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import { SqliteTx, statementsOn } from './tx.ts';

interface Reading {
  reader: Database;
  clock: Clock;
  snapshot: ReadSnapshot;
  /** Called when disk or file can no longer be trusted. */
  onFatal: (error: Error) => void;
}

/** Rejects with `storage_unavailable` if the database cannot be read. */
export function readsOf({ reader, clock, snapshot, onFatal }: Reading) {
  const statements = statementsOn(reader, () => clock.now());

  return async <Result>(work: Work<Result>): Promise<Result> => {
    if (!reader.open) throw storageUnavailable('The database is closed.');
    const tx = new SqliteTx(statements);
    try {
      const result = await snapshot.read(() => work(tx));
      if (tx.failure !== null) throw tx.failure;
      return result;
    } catch (thrown) {
      const error = tx.failure ?? thrown;
      if (sqliteErrorKind(error) === null) throw error;
      if (isFatal(error)) onFatal(error);
      throw storageUnavailable('The database cannot be read.', error);
    } finally {
      tx.end();
    }
  };
}
