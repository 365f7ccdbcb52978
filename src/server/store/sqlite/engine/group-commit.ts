// Commits concurrent writes as one group and flushes it on another thread (group commit).

import type { Database } from 'better-sqlite3';
import { sqliteErrorKind } from '../../../../base/sqlite.ts';
import { storageUnavailable, wireError } from '../../../ports/errors.ts';
import type { Work } from '../../db/database.ts';
import { isFatal } from './connections.ts';
import type { LogFile } from './disk.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import { SqliteTx, settled, statementsOn } from './tx.ts';

export interface GroupCommitOptions {
  /** The write connection: WAL, `synchronous=NORMAL`, busy timeout 0. No other code may write on it. */
  db: Database;
  /** The write-ahead log of `db`. A commit is durable once the log is flushed. */
  log: LogFile;
  /** The snapshot of this process's reads. They see a commit once it is durable. */
  snapshot: ReadSnapshot;
  /** The time that statements get for `NOW`. */
  now: () => number;
  /** Called before each group, while no read is pinned. The group waits for the promise; `null` if there is no wait. */
  beforeGroup?: (() => Promise<void> | null) | undefined;
  /** Commits a write that needs disk space. Throws if there is none. */
  probeRoom: () => void;
  /**
   * Called when a commit is durable. If it is true, the commit is in files that no start would find: the group and all
   * later writes are refused.
   */
  isReplaced?: (() => boolean) | undefined;
  /** Called once, when disk or file can no longer be trusted. */
  onFatal: (error: Error) => void;
  /** Called when a commit is durable; `seconds` covers the work in it and the flush. */
  onCommit?: ((commit: { writes: number; seconds: number }) => void) | undefined;
  /** How long a write waits for another process's lock, in ms. Default: 5000. */
  busyLimitMs?: number;
  /** The interval of probes of a full disk, in ms. Default: 1000. */
  probeEveryMs?: number;
}

interface Job {
  run: Work<unknown>;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  arrivedAt: number;
}

/** A group that is committed and not flushed yet. */
interface Committed {
  jobs: Job[];
  answers: (() => void)[];
  startedAt: number;
}

/** A group ends at the first of these limits, so that it does not hold the event loop for long. */
const MAX_JOBS = 512;
const MAX_BLOCK_MS = 8;

const BUSY_LIMIT_MS = 5_000;
const BUSY_BACKOFF_MAX_MS = 100;
const PROBE_EVERY_MS = 1_000;

const REPLACED = 'The database file was replaced, moved or removed while the server was running.';
const SAVE_FIRST = {
  hint: 'Before you stop svc-server, save the old file (docs/operations.md#backups): it may be the only copy.',
};

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #db: Database;
  readonly #statements: ReturnType<typeof statementsOn>;
  readonly #sql: Record<'begin' | 'commit' | 'savepoint' | 'release' | 'undo', { run(): unknown }>;
  #queue: Job[] = [];
  /** True from the scheduling of a group until it is answered. */
  #underWay = false;
  #committing: Promise<void> | null = null;
  #endCommitting: () => void = () => {};
  #busyRetries = 0;
  #refusal: 'full' | 'fatal' | 'replaced' | null = null;
  #probeTimer: NodeJS.Timeout | undefined;
  #draining: (() => void)[] | null = null;

  constructor(options: GroupCommitOptions) {
    const { db } = options;
    this.#options = options;
    this.#db = db;
    this.#statements = statementsOn(db, options.now);
    this.#sql = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      savepoint: db.prepare('SAVEPOINT job'),
      release: db.prepare('RELEASE job'),
      undo: db.prepare('ROLLBACK TO job'),
    };
  }

  /**
   * Runs `work` together with other writes, in one transaction. Resolves with its result once the transaction is
   * durable. `work` MUST await nothing but its `tx`. If it does, or throws, only its own changes are undone, and the
   * promise rejects. Rejects with `storage_unavailable` if the whole group was undone or its outcome is unknown.
   */
  write<T>(work: Work<T>): Promise<T> {
    if (this.#draining !== null)
      return Promise.reject(storageUnavailable('The database is closed.'));
    if (this.#refusal !== null) return Promise.reject(this.#refused());
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        run: work,
        // The result is what `work` returned, so it has the type T.
        resolve: (result) => resolve(result as T),
        reject,
        arrivedAt: performance.now(),
      });
      this.#schedule();
    });
  }

  /** Resolves when the transaction of a group has ended and is flushed; `null` if there is none. */
  get committing(): Promise<void> | null {
    return this.#committing;
  }

  /** Refuses new writes. Resolves when all accepted writes are answered. */
  drain(): Promise<void> {
    clearTimeout(this.#probeTimer);
    this.#draining ??= [];
    if (!this.#underWay) return Promise.resolve();
    return new Promise((resolve) => this.#draining?.push(resolve));
  }

  #schedule(): void {
    if (this.#underWay) return;
    this.#underWay = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    const wait = this.#options.beforeGroup?.() ?? null;
    if (wait === null) this.#beginNow();
    else wait.then(() => this.#beginNow());
  }

  #beginNow(): void {
    try {
      this.#sql.begin.run();
    } catch (error) {
      this.#cannotBegin(error);
      return;
    }
    this.#busyRetries = 0;
    this.#committing = new Promise((resolve) => {
      this.#endCommitting = resolve;
    });
    void this.#commit();
  }

  async #commit(): Promise<void> {
    const group = await this.#commitGroup();
    if (group !== null) await this.#flush(group);
    else {
      this.#ended();
      this.#goOn();
    }
  }

  #ended(): void {
    this.#committing = null;
    this.#endCommitting();
  }

  #goOn(): void {
    this.#underWay = false;
    if (this.#queue.length > 0) this.#schedule();
    else for (const drained of this.#draining ?? []) drained();
  }

  /** Commits the jobs that wait, one after the other, without leaving the queue of microtasks. */
  async #commitGroup(): Promise<Committed | null> {
    const answers: (() => void)[] = [];
    const startedAt = performance.now();
    let taken = 0;
    try {
      for (const job of this.#queue) {
        taken += 1;
        answers.push(await this.#runJob(job));
        if (taken >= MAX_JOBS || performance.now() - startedAt > MAX_BLOCK_MS) break;
      }
      await this.#readsEnd();
      this.#options.snapshot.hold();
      this.#sql.commit.run();
    } catch (error) {
      await this.#readsEnd();
      this.#options.snapshot.leave();
      this.#loseGroup(this.#queue.splice(0, taken), error);
      return null;
    }
    return { jobs: this.#queue.splice(0, taken), answers, startedAt };
  }

  /** Waits until the snapshot may change. A read takes microtasks only. */
  async #readsEnd(): Promise<void> {
    const { snapshot } = this.#options;
    while (snapshot.reading !== null) await snapshot.reading;
  }

  async #flush({ jobs, answers, startedAt }: Committed): Promise<void> {
    try {
      await this.#options.log.flush();
    } catch (error) {
      this.#ended();
      this.#loseFlush(jobs, error);
      return;
    }
    await this.#readsEnd();
    this.#ended();
    if (this.#options.isReplaced?.()) {
      this.#loseFiles(jobs);
      return;
    }
    this.#options.snapshot.leave();
    const seconds = (performance.now() - startedAt) / 1000;
    this.#options.onCommit?.({ writes: jobs.length, seconds });
    for (const answer of answers) answer();
    this.#goOn();
  }

  /** The outcome is unknown until a restart. The snapshot stays, so reads see the state before the commit. */
  #loseFlush(jobs: Job[], error: unknown): void {
    this.#reject(jobs, error);
    this.#endWith(error);
    this.#refuseQueue();
    this.#goOn();
  }

  /** The snapshot stays: reads see the state before the commit, and go on. */
  #loseFiles(jobs: Job[]): void {
    this.#refusal = 'replaced';
    clearTimeout(this.#probeTimer);
    for (const job of jobs) job.reject(this.#refused());
    this.#refuseQueue();
    this.#goOn();
  }

  /** Runs one job in its savepoint. Throws only errors that undid, or must undo, the whole transaction. */
  async #runJob(job: Job): Promise<() => void> {
    this.#sql.savepoint.run();
    const tx = new SqliteTx(this.#statements);
    try {
      const result = await settled(() => job.run(tx));
      if (tx.failure !== null) throw tx.failure;
      this.#sql.release.run();
      return () => job.resolve(result);
    } catch (thrown) {
      const error = tx.failure ?? thrown;
      const kind = sqliteErrorKind(error);
      if (!this.#db.inTransaction || kind === 'full' || isFatal(error)) throw error;
      this.#sql.undo.run();
      this.#sql.release.run();
      const answer =
        kind === 'busy' || kind === 'other'
          ? storageUnavailable('The database rejected the write.', error)
          : error;
      return () => job.reject(answer);
    } finally {
      tx.end();
    }
  }

  /** Undoes and rejects a group that did not commit. */
  #loseGroup(group: Job[], error: unknown): void {
    let worst = error;
    try {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    } catch (rollbackError) {
      worst = rollbackError;
    }
    this.#reject(group, error);
    // If neither COMMIT nor ROLLBACK works, the connection is unusable.
    if (worst !== error || isFatal(error)) this.#endWith(worst);
    else if (sqliteErrorKind(error) === 'full' && this.#refusal === null) {
      this.#refusal = 'full';
      this.#probeLater();
    }
    if (this.#refusal !== null) this.#refuseQueue();
  }

  #reject(group: Job[], error: unknown): void {
    const answer = storageUnavailable('The write could not be flushed to the disk.', error);
    for (const job of group) job.reject(answer);
  }

  #cannotBegin(error: unknown): void {
    if (sqliteErrorKind(error) === 'busy') {
      this.#waitForLock(error);
    } else {
      this.#loseGroup(this.#queue.splice(0), error);
      this.#goOn();
    }
  }

  #waitForLock(error: unknown): void {
    const latest = performance.now() - (this.#options.busyLimitMs ?? BUSY_LIMIT_MS);
    const waiting = this.#queue.findIndex((job) => job.arrivedAt > latest);
    const givenUp = this.#queue.splice(0, waiting === -1 ? this.#queue.length : waiting);
    const answer = storageUnavailable('Another process has locked the database.', error);
    for (const job of givenUp) job.reject(answer);
    if (this.#queue.length === 0) {
      this.#goOn();
    } else {
      setTimeout(() => this.#beginNow(), Math.min(2 ** this.#busyRetries++, BUSY_BACKOFF_MAX_MS));
    }
  }

  #endWith(error: unknown): void {
    if (this.#refusal === 'fatal') return;
    this.#refusal = 'fatal';
    clearTimeout(this.#probeTimer);
    this.#options.onFatal(error instanceof Error ? error : new Error(String(error)));
  }

  #probeLater(): void {
    if (this.#draining !== null) return;
    this.#probeTimer = setTimeout(() => {
      try {
        this.#options.probeRoom();
        this.#refusal = null;
      } catch (error) {
        if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
        if (isFatal(error)) this.#endWith(error);
        else this.#probeLater();
      }
    }, this.#options.probeEveryMs ?? PROBE_EVERY_MS);
    this.#probeTimer.unref();
  }

  #refuseQueue(): void {
    for (const job of this.#queue.splice(0)) job.reject(this.#refused());
  }

  #refused(): Error {
    if (this.#refusal === 'replaced') return wireError('storage_unavailable', REPLACED, SAVE_FIRST);
    return this.#refusal === 'full'
      ? storageUnavailable('The disk is full. Writes are refused until space is free.')
      : storageUnavailable('The database is no longer writable.');
  }
}
