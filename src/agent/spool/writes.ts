// Writes to the spool in groups that share a commit.

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
export class GroupWriter {
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
