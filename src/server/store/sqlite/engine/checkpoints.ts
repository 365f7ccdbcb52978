// Checkpoints the write-ahead log from a thread, so that commits never do it on the event loop.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { loadSqlite } from '../../../../base/sqlite.ts';
import { isFatal } from './connections.ts';
import type { OpenedFile } from './file-identity.ts';

/** A checkpoint is due at this many pages of the log, as by SQLite's default. */
const DUE_PAGES = 1_000;
/** At this many pages the log must restart: the writer waits until all of it is written back. */
const LARGE_PAGES = 8_192;
/** The delay between a commit and the check whether a checkpoint is due. */
const CHECK_AFTER_MS = 100;

/**
 * Replaces SQLite's automatic checkpoints, which are part of a commit and flush the whole database on the event loop.
 * A thread with a connection of its own writes the log back while writes go on. Under constant load no checkpoint would
 * reach the end of the log, so the writer waits for one when the log is large (`restart`). `onFatal` is called when
 * disk or file can no longer be trusted.
 */
export class Checkpoints {
  readonly #writer: Database;
  readonly #files: readonly OpenedFile[];
  readonly #onFatal: (error: Error) => void;
  #thread: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;
  #underWay: Promise<void> | null = null;
  #restartDue = false;
  #end: () => void = () => {};
  #stopped: Promise<void> | null = null;

  /** The thread opens the database only while its paths name these files. */
  constructor(writer: Database, files: readonly OpenedFile[], onFatal: (error: Error) => void) {
    this.#writer = writer;
    this.#files = files;
    this.#onFatal = onFatal;
    writer.pragma('wal_autocheckpoint = 0');
  }

  /** Notes a commit; a checkpoint may be due. Call it after each commit. */
  note(): void {
    if (this.#timer !== undefined || this.#underWay !== null || this.#stopped !== null) return;
    this.#timer = setTimeout(() => this.#check(), CHECK_AFTER_MS);
    this.#timer.unref();
  }

  /** Resolves when the running checkpoint ends; `null` if none runs. None starts before the next turn of the loop. */
  get underWay(): Promise<void> | null {
    return this.#underWay;
  }

  /** Ends the thread and its connection. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#underWay;
    const thread = this.#thread;
    this.#thread = null;
    if (thread === null) return;
    thread.ref();
    thread.postMessage('close');
    await once(thread, 'exit');
  }

  #check(): void {
    this.#timer = undefined;
    const { log, left } = this.#logPages();
    if (left < DUE_PAGES) return;
    this.#restartDue = log >= LARGE_PAGES;
    void this.#start('PASSIVE');
  }

  /**
   * Call it before a transaction of the writer, while no read is pinned to an older state. If the log is large, it
   * checkpoints the rest and resolves when the transaction can restart the log from its beginning; `null` if that is
   * not due.
   */
  restart(): Promise<void> | null {
    if (!this.#restartDue || this.#underWay !== null || this.#stopped !== null) return null;
    this.#restartDue = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#start('RESTART');
  }

  #start(mode: 'PASSIVE' | 'RESTART'): Promise<void> {
    const end = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    this.#underWay = end;
    this.#thread ??= this.#startThread();
    this.#thread.postMessage(mode);
    return end;
  }

  /** The pages in the log, and how many of them are not in the database yet. */
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
      workerData: { path: this.#writer.name, files: this.#files },
      execArgv: [],
    });
    thread.unref();
    thread.on('message', (error: { code: string; message: string } | null) => {
      if (error !== null) this.#fail(new (loadSqlite().SqliteError)(error.message, error.code));
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
    // Commits during the checkpoint may have made the next one due.
    this.note();
  }

  /** Ignores a full disk and a held lock: the next checkpoint tries again. */
  #fail(error: unknown): void {
    if (isFatal(error)) this.#onFatal(error);
  }
}
