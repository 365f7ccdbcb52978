// Writes to the spool: in groups that share a commit, and within the limits of the disk.
import { sqliteErrorKind } from '../../base/sqlite-errors.ts';
import { agentError } from '../errors.ts';
import type { SpoolFile, Tables } from './file.ts';
import type { SpoolRecord } from './records.ts';

/** Writes of one spool. Work may run more than once and MUST change nothing but the tables. */
export class SpoolWrites {
  readonly #file: SpoolFile;
  readonly #groups: GroupWriter;
  readonly #onCommit: () => void;
  readonly #uncommitted = { sample: 0, event: 0 };

  /** `onCommit` is called after each commit of samples or events. */
  constructor(file: SpoolFile, onCommit: () => void) {
    this.#file = file;
    this.#onCommit = onCommit;
    this.#groups = new GroupWriter((work) => file.commit(work));
  }

  /** Durable when it resolves. Rejects with `spool_full` when the file cannot be written. */
  async write<T>(work: (tables: Tables) => T, bytes = 0): Promise<T> {
    try {
      return await this.#groups.write(() => work(this.#file.tables), bytes);
    } catch (error) {
      throw writeError(error);
    }
  }

  /** Runs with the next group. A crash before its commit undoes it. */
  async writeSoon(work: (tables: Tables) => void): Promise<void> {
    await this.#groups.writeSoon(() => work(this.#file.tables));
  }

  /**
   * Accepts samples or events, durable within half a second.
   * @throws SvcError `spool_full` when nothing can be written now
   */
  insertSoon(
    kind: 'sample' | 'event',
    records: readonly SpoolRecord[],
    insert: (tables: Tables, record: SpoolRecord) => void,
  ): void {
    if (this.failure !== null) throw writeError(this.failure);
    const bytes = records.reduce((sum, { body }) => sum + body.length, 0);
    const cost = bytes + records.length * 100;
    const fits = () => this.#file.withRecovery(({ budget }) => budget.hasRoomInside(cost));
    if (!this.#file.reserve.hold() && !fits()) throw diskFull();
    const work = () => {
      this.#makeRoom(cost);
      for (const record of records) insert(this.#file.tables, record);
    };
    this.#uncommitted[kind] += records.length;
    void this.#groups.writeSoon(work, bytes).then(() => {
      this.#uncommitted[kind] -= records.length;
      this.#onCommit();
    });
  }

  /** Inside `work`: makes room for a claim or completion; false when claims and completions fill their share. */
  makeRoomForTask({ body }: SpoolRecord): boolean {
    const bytes = Buffer.byteLength(body);
    const { budget, totals } = this.#file.tables;
    return budget.allowsTask(totals.taskBytes(), bytes) && this.#makeRoom(bytes);
  }

  /** Samples and events that are accepted and not committed yet. */
  get uncommitted(): Readonly<Record<'sample' | 'event', number>> {
    return this.#uncommitted;
  }

  /** Why accepted records cannot be written now; null when they can. */
  get failure(): unknown {
    return this.#groups.failure;
  }

  get progressAt(): number {
    return this.#groups.progressAt;
  }

  /** Returns the space of deleted records to the disk. Needs that much space again. @throws SvcError `spool_full` */
  compact(): void {
    this.#groups.flush();
    try {
      this.#file.withRecovery(({ db }) => {
        db.exec('VACUUM');
        db.pragma('wal_checkpoint(TRUNCATE)');
      });
    } catch (error) {
      throw writeError(error);
    }
  }

  /** Commits the queue once and ends. */
  close(): void {
    this.#groups.flush();
    this.#groups.stop();
  }

  /** Removes the damaged file, then drops telemetry, until there is room; false when nothing is left to drop. */
  #makeRoom(bytes: number): boolean {
    const { budget, samples, events, state } = this.#file.tables;
    const canGrow = this.#file.reserve.hold();
    while (!budget.hasRoomFor(bytes) || !(canGrow || budget.hasRoomInside(bytes))) {
      if (this.#file.removeDamaged()) continue;
      const dropped = samples.makeRoom() ?? events.makeRoom();
      if (dropped === null) return false;
      state.noteDropped(dropped);
    }
    return true;
  }
}

function writeError(error: unknown) {
  return sqliteErrorKind(error) === null ? error : diskFull(error);
}

function diskFull(cause?: unknown) {
  return agentError('spool_full', 'Cannot write the spool now; the disk may be full.', {
    ...(cause === undefined ? {} : { cause }),
  });
}

interface Job {
  run(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** The caller was answered before the write is durable, so a failed commit must be retried. */
  answered: boolean;
  bytes: number;
}

/** Longest time that a `writeSoon` waits for others to share its commit. */
const LINGER_MS = 500;
/** Pause before a failed commit is retried. */
const RETRY_MS = 1000;

/** Limits of one commit, so that it holds the event loop only briefly. */
const MOST_BYTES = 256 * 1024;
const MOST_JOBS = 256;

/**
 * Group commit. `write` resolves when its write is durable, and commits everything queued before it.
 * `writeSoon` is durable within `LINGER_MS`.
 */
class GroupWriter {
  readonly #commit: (work: () => void) => void;
  #queue: Job[] = [];
  #bytes = 0;
  #flushing = false;
  #timer: NodeJS.Timeout | undefined;
  #failure: unknown = null;
  #triedAt = 0;

  /** `commit` runs `work` in one transaction, which any exception undoes. */
  constructor(commit: (work: () => void) => void) {
    this.#commit = commit;
  }

  /** Why `writeSoon` writes cannot be committed; null otherwise. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The `performance.now()` of the last try to commit, or of now if the queue is empty. */
  get progressAt(): number {
    return this.#queue.length === 0 ? performance.now() : this.#triedAt;
  }

  /** Work may run more than once and MUST change nothing but the database. Rejects if its commit is undone. */
  write<T>(work: () => T, bytes = 0): Promise<T> {
    const result = this.#add(work, bytes, false);
    this.#flushSoon();
    return result;
  }

  /** Like `write`, but commits within `LINGER_MS` and retries until it succeeds. */
  writeSoon<T>(work: () => T, bytes = 0): Promise<T> {
    const result = this.#add(work, bytes, true);
    if (this.#bytes >= MOST_BYTES || this.#queue.length >= MOST_JOBS) this.#flushSoon();
    else this.#timer ??= setTimeout(() => this.#flush(), LINGER_MS);
    return result;
  }

  /** Commits the queue once. Writes that fail stay uncommitted. */
  flush(): void {
    while (this.#queue.length > 0 && this.#flushGroup());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #add<T>(work: () => T, bytes: number, answered: boolean): Promise<T> {
    if (this.#queue.length === 0) this.#triedAt = performance.now();
    return new Promise<T>((resolve, reject) => {
      // `result` is what `work` returned.
      const settle = (result: unknown) => resolve(result as T);
      this.#queue.push({ run: work, resolve: settle, reject, answered, bytes });
      this.#bytes += bytes;
    });
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#queue.length === 0) return;
    const committed = this.#flushGroup();
    if (this.#queue.length === 0) return;
    if (committed) this.#flushSoon();
    else this.#timer = setTimeout(() => this.#flush(), RETRY_MS);
  }

  /** False if the commit failed and was undone as a whole. */
  #flushGroup(): boolean {
    this.#triedAt = performance.now();
    const group = this.#takeGroup();
    let results: unknown[] = [];
    try {
      this.#commit(() => {
        results = group.map((job) => job.run());
      });
    } catch (error) {
      this.#requeue(group, error);
      return false;
    }
    this.#failure = null;
    for (const [i, job] of group.entries()) job.resolve(results[i]);
    return true;
  }

  #takeGroup(): Job[] {
    let bytes = 0;
    const end = this.#queue.findIndex((job, i) => {
      bytes += job.bytes;
      return i > 0 && (bytes > MOST_BYTES || i >= MOST_JOBS);
    });
    const group = this.#queue.splice(0, end === -1 ? this.#queue.length : end);
    for (const job of group) this.#bytes -= job.bytes;
    return group;
  }

  #requeue(group: Job[], error: unknown): void {
    const kept = group.filter((job) => job.answered);
    for (const job of group) if (!job.answered) job.reject(error);
    if (kept.length > 0) this.#failure = error;
    for (const job of kept) this.#bytes += job.bytes;
    this.#queue.unshift(...kept);
  }
}
