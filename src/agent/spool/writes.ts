/** What a commit came to: done, or undone as a whole. */
type Outcome = { done: true } | { done: false; error: unknown };

interface Job {
  run(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Answered before it is durable; kept, and tried again, when a commit fails. */
  answered: boolean;
  bytes: number;
}

export interface GroupWriterOptions {
  /** Runs `work` in one transaction; what it throws undoes all of it. */
  commit(work: () => void): void;
  /** How long an answered write may wait for company. */
  lingerMs: number;
  /** How long until a failed commit of answered writes is tried again. */
  retryMs: number;
}

/** A commit ends at whichever comes first, so that it holds the event loop for a short time only. */
const MOST_BYTES = 256 * 1024;
const MOST_JOBS = 256;

/**
 * Commits writes in groups. `write` resolves when its write is durable, and takes with it all that waits;
 * `writeSoon` is durable within the linger.
 */
export class GroupWriter {
  readonly #options: GroupWriterOptions;
  #queue: Job[] = [];
  #bytes = 0;
  #flushing = false;
  #timer: NodeJS.Timeout | undefined;
  #failure: unknown = null;
  #triedAt = 0;

  constructor(options: GroupWriterOptions) {
    this.#options = options;
  }

  /** Why answered writes could not be committed, until they could; null when all is well. */
  get failure(): unknown {
    return this.#failure;
  }

  /** When it last tried to commit, of `performance.now()`; now, where nothing waits. */
  get progressAt(): number {
    return this.#queue.length === 0 ? performance.now() : this.#triedAt;
  }

  /** Work may run more than once and MUST change nothing but the database. Rejects when it is undone. */
  write<T>(work: () => T, bytes = 0): Promise<T> {
    const result = this.#add(work, bytes, false);
    this.#flushSoon();
    return result;
  }

  /** The same, within the linger; tried until it succeeds. */
  writeSoon<T>(work: () => T, bytes = 0): Promise<T> {
    const result = this.#add(work, bytes, true);
    if (this.#bytes >= MOST_BYTES || this.#queue.length >= MOST_JOBS) this.#flushSoon();
    else this.#timer ??= setTimeout(() => this.#flush(), this.#options.lingerMs);
    return result;
  }

  /** Commits what waits, once; what cannot be committed stays undone. */
  flush(): void {
    while (this.#queue.length > 0 && this.#flushGroup().done);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #add<T>(work: () => T, bytes: number, answered: boolean): Promise<T> {
    if (this.#queue.length === 0) this.#triedAt = performance.now();
    return new Promise<T>((resolve, reject) => {
      // What comes back is what `work` returned.
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
    const outcome = this.#flushGroup();
    if (this.#queue.length === 0) return;
    if (outcome.done) this.#flushSoon();
    else this.#timer = setTimeout(() => this.#flush(), this.#options.retryMs);
  }

  #flushGroup(): Outcome {
    this.#triedAt = performance.now();
    const group = this.#takeGroup();
    let results: unknown[] = [];
    try {
      this.#options.commit(() => {
        results = group.map((job) => job.run());
      });
    } catch (error) {
      this.#putBack(group, error);
      return { done: false, error };
    }
    this.#failure = null;
    for (const [i, job] of group.entries()) job.resolve(results[i]);
    return { done: true };
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

  #putBack(group: Job[], error: unknown): void {
    const kept = group.filter((job) => job.answered);
    for (const job of group) if (!job.answered) job.reject(error);
    if (kept.length > 0) this.#failure = error;
    for (const job of kept) this.#bytes += job.bytes;
    this.#queue.unshift(...kept);
  }
}
