import type { Database } from 'better-sqlite3';
import { storageUnavailable } from '../storage-unavailable.ts';
import { faultKind } from './faults.ts';

export interface GroupCommitOptions {
  /** The write connection: WAL, `synchronous=FULL`, busy timeout 0. Nothing else may write on it. */
  db: Database;
  /** Commits something that needs room on the disk; throws when there is none. */
  probeRoom: () => void;
  /** Called once, when disk or file cannot be trusted any more. */
  onFatal: (error: Error) => void;
  /** Called after each commit; `seconds` covers the work in it. */
  onCommit?: ((commit: { writes: number; seconds: number }) => void) | undefined;
  /** How long a write waits for another process to let go of the lock, in ms. */
  busyLimitMs?: number;
  /** How often a full disk is tried again, in ms. */
  probeEveryMs?: number;
}

export interface GroupCommit {
  /**
   * Runs `work` with others that arrived together, in one transaction and in one synchronous block.
   * Resolves with its result once that transaction is durable. `work` MUST be synchronous; what it
   * throws undoes its own changes alone and is what the promise rejects with. Rejects with
   * `storage_unavailable` when the outcome of the whole group is unknown or undone.
   */
  write<T>(work: () => T): Promise<T>;
  /** Refuses new writes and resolves when those accepted have been answered. */
  drain(): Promise<void>;
}

interface Job {
  run: () => unknown;
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  arrivedAt: number;
}

/** A group ends at whichever comes first, so that one block does not hold the event loop for long. */
const MAX_JOBS = 512;
const MAX_BLOCK_MS = 8;

const BUSY_LIMIT_MS = 5_000;
const BUSY_BACKOFF_MAX_MS = 100;
const PROBE_EVERY_MS = 1_000;

export function startGroupCommit(options: GroupCommitOptions): GroupCommit {
  return new SqliteGroupCommit(options);
}

class SqliteGroupCommit implements GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #db: Database;
  readonly #sql: Record<'begin' | 'commit' | 'savepoint' | 'release' | 'undo', { run(): unknown }>;
  #queue: Job[] = [];
  #scheduled = false;
  #busyRetries = 0;
  #refusal: 'full' | 'fatal' | null = null;
  #probeTimer: NodeJS.Timeout | undefined;
  #draining: (() => void)[] | null = null;

  constructor(options: GroupCommitOptions) {
    const { db } = options;
    this.#options = options;
    this.#db = db;
    this.#sql = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      savepoint: db.prepare('SAVEPOINT job'),
      release: db.prepare('RELEASE job'),
      undo: db.prepare('ROLLBACK TO job'),
    };
  }

  write<T>(work: () => T): Promise<T> {
    if (this.#draining !== null) return Promise.reject(storageUnavailable('The store is closed.'));
    if (this.#refusal !== null) return Promise.reject(this.#refused());
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        run: work,
        // The result that comes back is what `work` returned.
        resolve: (result) => resolve(result as T),
        reject,
        arrivedAt: performance.now(),
      });
      this.#schedule();
    });
  }

  drain(): Promise<void> {
    clearTimeout(this.#probeTimer);
    this.#draining ??= [];
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#draining?.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    try {
      this.#sql.begin.run();
    } catch (error) {
      this.#cannotBegin(error);
      return;
    }
    this.#busyRetries = 0;
    this.#runGroup();
    this.#goOn();
  }

  #goOn(): void {
    if (this.#queue.length > 0) this.#schedule();
    else for (const drained of this.#draining ?? []) drained();
  }

  #runGroup(): void {
    const answers: (() => void)[] = [];
    const startedAt = performance.now();
    let taken = 0;
    try {
      for (const job of this.#queue) {
        taken += 1;
        answers.push(this.#runJob(job));
        if (taken >= MAX_JOBS || performance.now() - startedAt > MAX_BLOCK_MS) break;
      }
      this.#sql.commit.run();
    } catch (error) {
      this.#loseGroup(this.#queue.splice(0, taken), error);
      return;
    }
    this.#queue.splice(0, taken);
    const seconds = (performance.now() - startedAt) / 1000;
    this.#options.onCommit?.({ writes: taken, seconds });
    for (const answer of answers) answer();
  }

  /** Runs one job in its savepoint. Throws only what undid, or must undo, the whole transaction. */
  #runJob(job: Job): () => void {
    this.#sql.savepoint.run();
    try {
      const result = job.run();
      this.#sql.release.run();
      return () => job.resolve(result);
    } catch (error) {
      const kind = faultKind(error);
      if (!this.#db.inTransaction || kind === 'full' || kind === 'fatal') throw error;
      this.#sql.undo.run();
      this.#sql.release.run();
      const answer =
        kind === 'busy' || kind === 'other'
          ? storageUnavailable('The database refused the write.', error)
          : error;
      return () => job.reject(answer);
    }
  }

  /** Nothing of the group is known to be durable. */
  #loseGroup(group: Job[], error: unknown): void {
    let worst = error;
    try {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
    } catch (rollbackError) {
      worst = rollbackError;
    }
    const answer = storageUnavailable('The write did not become durable.', error);
    for (const job of group) job.reject(answer);
    // A transaction that can neither be committed nor undone leaves the connection useless.
    if (worst !== error || faultKind(error) === 'fatal') this.#endWith(worst);
    else if (faultKind(error) === 'full') this.#refuseUntilRoom();
    if (this.#refusal !== null) this.#refuseQueue();
  }

  #cannotBegin(error: unknown): void {
    if (faultKind(error) === 'busy') {
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
    const answer = storageUnavailable('Another process keeps the database locked.', error);
    for (const job of givenUp) job.reject(answer);
    if (this.#queue.length === 0) {
      this.#goOn();
    } else {
      this.#scheduled = true;
      setTimeout(() => this.#flush(), Math.min(2 ** this.#busyRetries++, BUSY_BACKOFF_MAX_MS));
    }
  }

  #refuseUntilRoom(): void {
    if (this.#refusal !== null) return;
    this.#refusal = 'full';
    this.#probeLater();
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
        if (faultKind(error) === 'fatal') this.#endWith(error);
        else this.#probeLater();
      }
    }, this.#options.probeEveryMs ?? PROBE_EVERY_MS);
    this.#probeTimer.unref();
  }

  #refuseQueue(): void {
    for (const job of this.#queue.splice(0)) job.reject(this.#refused());
  }

  #refused(): Error {
    return this.#refusal === 'full'
      ? storageUnavailable('The disk is full; writes are refused until there is room.')
      : storageUnavailable('The database cannot be written any more.');
  }
}
