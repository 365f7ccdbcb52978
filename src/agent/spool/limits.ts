// Limits of the spool's size: the budget of the file, and the reserve for a full disk.
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { Instant } from '../clock.ts';
import { PAGE_BYTES } from './database.ts';

/** More than the write-ahead log grows by in one commit, and so more than the file grows by at a checkpoint. */
const RESERVE_BYTES = 1024 * 1024;

/** Bytes for the write-ahead log, the lock and the reserve. */
const BESIDE_BYTES = 1.5 * 1024 * 1024 + RESERVE_BYTES;

/** Pages kept free on a full disk, for writes that deliver the rest. */
const SPARE_PAGES = 128;

/** Part of the budget that claims and completions may fill. The rest is for telemetry. */
const TASK_SHARE = 0.9;

/** Generous estimate of a row's overhead and its index entries, in bytes. */
const ROW_BYTES = 400;

/** Records that were dropped for space. Times are wall times of acceptance. */
export interface Dropped {
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** `count` of these rows, which must not be empty, were dropped. */
export function droppedOf(rows: readonly Instant[], count: number): Dropped {
  const times = rows.map(({ wallMs }) => wallMs);
  return { count, fromMs: Math.min(...times), toMs: Math.max(...times) };
}

/** Keeps the spool's files below `maxBytes`. */
export class Budget {
  readonly #most: number;
  readonly #asideBytes: () => number;
  readonly #pages;
  readonly #free;

  /** `asideBytes`: size of the damaged file. */
  constructor(db: Database, maxBytes: number, asideBytes: () => number) {
    this.#most = maxBytes - BESIDE_BYTES;
    this.#asideBytes = asideBytes;
    this.#pages = db.prepare<[], number>('SELECT page_count FROM pragma_page_count()').pluck();
    this.#free = db
      .prepare<[], number>('SELECT freelist_count FROM pragma_freelist_count()')
      .pluck();
  }

  /** Bytes that records may take, next to the damaged file. */
  get capacity(): number {
    return this.#most - this.#asideBytes();
  }

  /** Bytes of pages in use. Free pages are filled before the file grows. */
  used(): number {
    return ((this.#pages.get() ?? 0) - (this.#free.get() ?? 0)) * PAGE_BYTES;
  }

  hasRoomFor(textBytes: number): boolean {
    return this.used() + costOf(textBytes) <= this.capacity;
  }

  /** Whether it fits without growing the file, for a full disk. */
  hasRoomInside(textBytes: number): boolean {
    const free = (this.#free.get() ?? 0) - SPARE_PAGES;
    return costOf(textBytes) <= free * PAGE_BYTES;
  }

  /** Whether claims and completions of `taskBytes` may grow by `textBytes`. */
  allowsTask(taskBytes: number, textBytes: number): boolean {
    return taskBytes + costOf(textBytes) <= this.#most * TASK_SHARE;
  }
}

/** A long text takes whole pages. */
function costOf(textBytes: number): number {
  return textBytes > PAGE_BYTES / 2 ? textBytes + PAGE_BYTES + ROW_BYTES : textBytes + ROW_BYTES;
}

/** Shortest time between two tries to take the reserve. */
const TRY_MS = 1000;

/**
 * A file that is written while the disk has room and deleted when it is full. Its space lets the agent record
 * deliveries, and delete records, no matter what filled the disk.
 */
export class DiskReserve {
  readonly #file: string;
  #isHeld: boolean;
  #triedAt = Number.NEGATIVE_INFINITY;

  constructor(file: string) {
    this.#file = file;
    this.#isHeld = this.bytes() >= RESERVE_BYTES;
  }

  bytes(): number {
    return statSync(this.#file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Takes the reserve if it is not held, at most once a second; false while the disk is full. */
  hold(): boolean {
    if (!this.#isHeld && performance.now() - this.#triedAt >= TRY_MS) {
      this.#triedAt = performance.now();
      this.#isHeld = this.#take();
    }
    return this.#isHeld;
  }

  release(): void {
    this.#isHeld = false;
    this.#triedAt = performance.now();
    rmSync(this.#file, { force: true });
  }

  #take(): boolean {
    try {
      const file = openSync(this.#file, 'w', 0o600);
      try {
        return writeSync(file, Buffer.alloc(RESERVE_BYTES)) === RESERVE_BYTES;
      } finally {
        closeSync(file);
      }
    } catch {
      return false;
    } finally {
      if (this.bytes() < RESERVE_BYTES) rmSync(this.#file, { force: true });
    }
  }
}
