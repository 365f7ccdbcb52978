import type Database from 'better-sqlite3';
import type { Clock } from '../../../base/clock.ts';

/** What the parts of the store share. */
export interface Access {
  /** Only for statements that run inside `write`. */
  writer: Database.Database;
  /** Only for statements that run inside `read`; sees what was committed and is durable. */
  reader: Database.Database;
  clock: Clock;
  /** See `GroupCommit.write`. */
  write<T>(work: () => T): Promise<T>;
  /** See `LogPurge.purge`; belongs after the commit of what erases. */
  purgeLog(): Promise<void>;
  /** See `LogPurge.join`; for what found nothing left to erase. */
  joinLogPurge(): Promise<void>;
  /** Rejects with `storage_unavailable` when the database cannot be read. */
  read<T>(query: () => T): Promise<T>;
  /** The same at once, for what must not let anything happen in between. */
  readNow<T>(query: () => T): T;
}
