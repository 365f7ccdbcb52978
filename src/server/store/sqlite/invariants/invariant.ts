import type { Database } from 'better-sqlite3';

/** Answers its violations. Reads as it goes, so that memory does not grow with the database. */
export type Invariant = (db: Database) => Iterable<string>;
