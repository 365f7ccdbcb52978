import { dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { AgentClock } from '../clock.ts';
import { databaseErrorKind, openDatabase } from './database.ts';
import { EventTable } from './events.ts';
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
import { SampleTable } from './samples.ts';
import { Totals } from './schema.ts';
import { Settled } from './settled.ts';
import { AgentState } from './state.ts';
import { TaskTable } from './tasks.ts';

export interface SpoolFileOptions {
  maxBytes: number;
  clock: AgentClock;
  /** Told of a file that was damaged and set aside. */
  onDamage?: (damage: { file: string; records: number }) => void;
}

export interface Tables {
  readonly db: Database;
  readonly budget: Budget;
  readonly tasks: TaskTable;
  readonly samples: SampleTable;
  readonly events: EventTable;
  readonly settled: Settled;
  readonly state: AgentState;
  readonly totals: Totals;
}

/**
 * The tables of the spool's file. Where damage shows, at the start or later, the file is set aside, and a new one
 * with all that is whole in it takes its place.
 */
export class SpoolFile {
  readonly path: string;
  readonly reserve: DiskReserve;
  readonly #options: SpoolFileOptions;
  #tables: Tables;
  #generation = 0;
  /** A salvage failed, as it does on a full disk; no file is open, and the next who asks tries again. */
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

  /** Grows with each salvage, after which the numbers of records are others. */
  get generation(): number {
    return this.#generation;
  }

  /** Those of now; after `mending` they may be others. */
  get tables(): Tables {
    return this.#tables;
  }

  /** Runs `work`; once more, with the tables of the new file, where it comes upon damage. */
  withRecovery<T>(work: (tables: Tables) => T): T {
    try {
      return work(this.#tables);
    } catch (error) {
      const isDamage = databaseErrorKind(error) === 'damaged' || error instanceof DamagedRecord;
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

  /** The damaged file that was last set aside, as long as there is room for it. */
  get damaged(): DamagedFile | null {
    return this.#damaged;
  }

  /** Gives the room of the damaged file to records; false where there is none. */
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
      if (databaseErrorKind(error) !== 'damaged') throw error;
      return this.#openRecovered();
    }
  }

  #prepare(path: string): Tables {
    const db = this.#withReserve(() => openDatabase(path));
    return {
      db,
      budget: new Budget(db, this.#options.maxBytes, () => this.#damaged?.bytes ?? 0),
      tasks: new TaskTable(db),
      samples: new SampleTable(db),
      events: new EventTable(db),
      settled: new Settled(db),
      state: new AgentState(db),
      totals: new Totals(db),
    };
  }

  #openRecovered(): Tables {
    const records = this.#withReserve(() => this.#recover());
    const file = finishRecovery(this.path, this.#options.clock.now().wallMs);
    this.#options.onDamage?.({ file, records });
    return this.#prepare(this.path);
  }

  /** Makes the new file, and answers how many records it has. */
  #recover(): number {
    const fresh = this.#prepare(beginRecovery(this.path));
    const found = recordsIn(this.path);
    try {
      const records = insertAll(fresh, found);
      // `close` would do it too, but says nothing when it cannot; and the log does not go with the file.
      fresh.db.pragma('wal_checkpoint(TRUNCATE)');
      return records;
    } finally {
      // Lets go of the damaged file.
      found.return(undefined);
      fresh.db.close();
    }
  }

  /** On a full disk once more, with the reserve, and with the log begun anew. */
  #withReserve<T>(write: () => T, db?: Database): T {
    try {
      return write();
    } catch (error) {
      if (databaseErrorKind(error) !== 'full') throw error;
      this.reserve.release();
      if (db?.open) db.pragma('wal_checkpoint(RESTART)');
      return write();
    }
  }
}
