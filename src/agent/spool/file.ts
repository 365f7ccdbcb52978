// The spool's file: its tables, and what happens when it is damaged or the disk is full.

import { dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { sqliteErrorKind } from '../../base/sqlite.ts';
import type { AgentClock } from '../clock.ts';
import { openDatabase } from './database.ts';
import { Budget, DiskReserve } from './limits.ts';
import { DamagedRecord } from './records.ts';
import {
  beginRecovery,
  type DamagedFile,
  findDamaged,
  finishRecovery,
  insertAll,
  recordsIn,
  removeDamaged,
  resumeRecovery,
} from './recover.ts';
import { type Tables, tablesOf } from './tables.ts';

export interface SpoolFileOptions {
  maxBytes: number;
  clock: AgentClock;
  /** Called after a damaged file was set aside. */
  onDamage?: (damage: { file: string; records: number }) => void;
}

/**
 * Detects damage at the start and on any later access. The file is then set aside, and a new one with its
 * undamaged records replaces it.
 */
export class SpoolFile {
  readonly path: string;
  readonly reserve: DiskReserve;
  readonly #options: SpoolFileOptions;
  #tables: Tables;
  #generation = 0;
  /** Recovery failed, for example on a full disk. No file is open, and the next access tries again. */
  #awaitsRecovery = false;
  #damaged: DamagedFile | null = null;

  constructor(path: string, options: SpoolFileOptions) {
    this.path = path;
    this.reserve = new DiskReserve(join(dirname(path), 'reserve'));
    this.#options = options;
    this.#tables = this.#open();
    this.reserve.hold();
    this.#findDamaged();
  }

  /** Counts recoveries, each of which renumbers the records. */
  get generation(): number {
    return this.#generation;
  }

  /** The current tables. `withRecovery` may replace them. */
  get tables(): Tables {
    return this.#tables;
  }

  /** Runs `work`. If it meets damage, recovers the file and runs `work` once more on the new tables. */
  withRecovery<T>(work: (tables: Tables) => T): T {
    try {
      return work(this.#tables);
    } catch (error) {
      const isDamage = sqliteErrorKind(error) === 'damaged' || error instanceof DamagedRecord;
      if (!isDamage && !this.#awaitsRecovery) throw error;
      this.#tables.db.close();
      this.#awaitsRecovery = true;
      this.#tables = this.#openRecovered();
      this.#awaitsRecovery = false;
      this.#generation += 1;
      this.#findDamaged();
      return work(this.#tables);
    }
  }

  /** Durable when it returns. */
  commit(work: () => void): void {
    this.withRecovery(({ db }) => this.#withReserve(() => db.transaction(work).immediate(), db));
  }

  /** The damaged file that was set aside last, until its space is needed. */
  get damaged(): DamagedFile | null {
    return this.#damaged;
  }

  /** Frees the space of the damaged file; false if there is none. */
  removeDamaged(): boolean {
    if (this.#damaged === null) return false;
    removeDamaged(this.#damaged);
    this.#damaged = null;
    return true;
  }

  close(): void {
    this.#tables.db.close();
  }

  #findDamaged(): void {
    this.#damaged = findDamaged(this.path);
    if (!this.#tables.budget.hasRoomFor(0)) this.removeDamaged();
  }

  #open(): Tables {
    try {
      resumeRecovery(this.path, this.#options.clock.now().wallMs);
      return this.#prepare(this.path);
    } catch (error) {
      if (sqliteErrorKind(error) !== 'damaged') throw error;
      return this.#openRecovered();
    }
  }

  #prepare(path: string): Tables {
    const db = this.#withReserve(() => openDatabase(path));
    return tablesOf(db, new Budget(db, this.#options.maxBytes, () => this.#damaged?.bytes ?? 0));
  }

  #openRecovered(): Tables {
    const records = this.#withReserve(() => this.#recover());
    const file = finishRecovery(this.path, this.#options.clock.now().wallMs);
    this.#options.onDamage?.({ file, records });
    return this.#prepare(this.path);
  }

  /** Builds the new file and returns the number of recovered records. */
  #recover(): number {
    const fresh = this.#prepare(beginRecovery(this.path));
    const found = recordsIn(this.path);
    try {
      const records = insertAll(fresh, found);
      // `close` would checkpoint too, but hides failures, and the log would not be renamed with the file.
      fresh.db.pragma('wal_checkpoint(TRUNCATE)');
      return records;
    } finally {
      // Closes the damaged file.
      found.return(undefined);
      fresh.db.close();
    }
  }

  /** On a full disk, releases the reserve, restarts the log and tries once more. */
  #withReserve<T>(write: () => T, db?: Database): T {
    try {
      return write();
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error;
      this.reserve.release();
      if (db?.open) db.pragma('wal_checkpoint(RESTART)');
      return write();
    }
  }
}
