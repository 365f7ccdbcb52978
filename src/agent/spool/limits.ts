import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { PAGE_BYTES } from './database.ts';

/** More than the write-ahead log grows to with one commit, and so than the file grows by when it is written back. */
const RESERVE_BYTES = 1024 * 1024;

/** What the write-ahead log and the lock may take beside the file and the reserve, in bytes. */
const BESIDE_BYTES = 1.5 * 1024 * 1024 + RESERVE_BYTES;

/** Pages that stay free on a full disk, for what is written to deliver the rest. */
const SPARE_PAGES = 128;

/** The part of the budget that claims and completions may fill; the rest is telemetry's. */
const TASK_SHARE = 0.9;

/** What a row and its place in the indices take beside its text, in bytes; generous. */
const ROW_BYTES = 400;

/** What had to go to keep the budget. Times are wall clock, as accepted. */
export interface Dropped {
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Holds the spool's files to `maxBytes`. */
export class Budget {
  readonly #most: number;
  readonly #asideBytes: () => number;
  readonly #pages;
  readonly #free;

  /** `asideBytes`: of the damaged file that is kept to be looked at. */
  constructor(db: Database, maxBytes: number, asideBytes: () => number) {
    this.#most = maxBytes - BESIDE_BYTES;
    this.#asideBytes = asideBytes;
    this.#pages = db.prepare<[], number>('SELECT page_count FROM pragma_page_count()').pluck();
    this.#free = db
      .prepare<[], number>('SELECT freelist_count FROM pragma_freelist_count()')
      .pluck();
  }

  /** What records may take while the damaged file is there, in bytes. */
  get capacity(): number {
    return this.#most - this.#asideBytes();
  }

  /** Bytes of pages that hold something; pages that do not are filled before the file grows. */
  used(): number {
    return ((this.#pages.get() ?? 0) - (this.#free.get() ?? 0)) * PAGE_BYTES;
  }

  hasRoomFor(textBytes: number): boolean {
    return this.used() + costOf(textBytes) <= this.capacity;
  }

  /** The same for a file that cannot grow, because the disk is full. */
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

/** How often it is tried to have it again. */
const TRY_MS = 1000;

/**
 * Space that is taken while the disk has some, and given up when it is full: what is delivered then can still be written
 * down, and deleted, whoever filled the disk.
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

  /** Takes it where it is not, at most once a second; false while the disk is full. */
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
