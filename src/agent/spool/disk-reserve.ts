import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';

/** More than the write-ahead log grows to with one commit, and so than the file grows by when it is written back. */
export const RESERVE_BYTES = 1024 * 1024;

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
