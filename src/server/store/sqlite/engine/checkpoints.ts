import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { databaseErrorKind } from './connections.ts';

export interface Checkpoints {
  /** Call after each commit. */
  note(): void;
  /**
   * Call before a transaction of the writer, while no read is held at an older state: resolves when the log may begin
   * anew with it, null where that is not due.
   */
  restart(): Promise<void> | null;
  /** Resolves with the end of the one that is under way; none begins before the next turn of the event loop. */
  readonly underWay: Promise<void> | null;
  /** Ends the thread and its connection. */
  stop(): Promise<void>;
}

/** Pages of the log that are worth a checkpoint, as for SQLite itself. */
const DUE_PAGES = 1_000;
/** From here on the log has to begin anew, for which the writer waits until the rest of it is written back. */
const LARGE_PAGES = 8_192;
/** Between a commit and the look whether a checkpoint is due. */
const LOOK_AFTER_MS = 100;

/**
 * Writes the log back into the database from a thread with a connection of its own, in the place of SQLite's automatic
 * checkpoints: these are part of a commit, and flush the whole database on the event loop. Writers go on beside it. Under a
 * load without a pause none would ever reach the log's end, so from time to time the writer waits for one (`restart`).
 * `onFatal` learns that disk or file cannot be
 * trusted any more.
 */
export function startCheckpoints(
  writer: Database.Database,
  onFatal: (error: Error) => void,
): Checkpoints {
  return new ThreadCheckpoints(writer, onFatal);
}

class ThreadCheckpoints implements Checkpoints {
  readonly #writer: Database.Database;
  readonly #onFatal: (error: Error) => void;
  #thread: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | null = null;
  #restartDue = false;
  #end: () => void = () => {};
  #stopped = false;

  constructor(writer: Database.Database, onFatal: (error: Error) => void) {
    this.#writer = writer;
    this.#onFatal = onFatal;
    writer.pragma('wal_autocheckpoint = 0');
  }

  note(): void {
    if (this.#timer !== undefined || this.#underWay !== null || this.#stopped) return;
    this.#timer = setTimeout(() => this.#look(), LOOK_AFTER_MS);
    this.#timer.unref();
  }

  get underWay(): Promise<void> | null {
    return this.#underWay;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#underWay;
    const thread = this.#thread;
    this.#thread = null;
    if (thread === null) return;
    thread.ref();
    thread.postMessage('close');
    await once(thread, 'exit');
  }

  #look(): void {
    this.#timer = undefined;
    const { log, left } = this.#logPages();
    if (left < DUE_PAGES) return;
    this.#restartDue = log >= LARGE_PAGES;
    this.#order('PASSIVE');
  }

  restart(): Promise<void> | null {
    if (!this.#restartDue || this.#underWay !== null || this.#stopped) return null;
    this.#restartDue = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#order('RESTART');
  }

  #order(mode: 'PASSIVE' | 'RESTART'): Promise<void> {
    const end = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    this.#underWay = end;
    this.#thread ??= this.#startThread();
    this.#thread.postMessage(mode);
    return end;
  }

  /** Pages in the log, and those of them that are not in the database yet. */
  #logPages(): { log: number; left: number } {
    try {
      const rows = this.#writer.pragma('wal_checkpoint(NOOP)');
      const [{ log, checkpointed }] = rows as [{ log: number; checkpointed: number }];
      return { log, left: log - checkpointed };
    } catch (error) {
      this.#fail(error);
      return { log: 0, left: 0 };
    }
  }

  #startThread(): Worker {
    const thread = new Worker(new URL('./checkpoint-thread.js', import.meta.url), {
      workerData: { path: this.#writer.name },
      execArgv: [],
    });
    thread.unref();
    thread.on('message', (fault: { code: string; message: string } | null) => {
      if (fault !== null) this.#fail(new Database.SqliteError(fault.message, fault.code));
      this.#finish();
    });
    thread.on('error', (error) => {
      this.#thread = null;
      this.#onFatal(error instanceof Error ? error : new Error(String(error)));
      this.#finish();
    });
    return thread;
  }

  #finish(): void {
    this.#underWay = null;
    this.#end();
    // For the commits that came meanwhile.
    this.note();
  }

  /** Where there is no room or a lock is held, the next one may do better. */
  #fail(error: unknown): void {
    if (databaseErrorKind(error) === 'fatal' && error instanceof Error) this.#onFatal(error);
  }
}
