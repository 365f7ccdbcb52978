import type { Database } from 'better-sqlite3';
import type { TotalName } from './schema.ts';

export interface Total {
  readonly count: number;
  /** Of the records' text. */
  readonly bytes: number;
}

/** How many records there are, as the spool's triggers keep it: what it costs to know does not grow with them. */
export class Totals {
  readonly #read;

  constructor(db: Database) {
    this.#read = db.prepare<[TotalName], Total>('SELECT count, bytes FROM totals WHERE name = ?');
  }

  of(name: TotalName): Total {
    return this.#read.get(name) ?? { count: 0, bytes: 0 };
  }

  /** Bytes of all that is kept of tasks. */
  taskBytes(): number {
    return (['claims', 'completions', 'refused_tasks'] as const).reduce(
      (sum, name) => sum + this.of(name).bytes,
      0,
    );
  }
}
