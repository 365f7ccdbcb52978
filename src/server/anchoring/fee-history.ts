// Remembers the fees of the last hour, to report a jump.

const HOUR_MS = 3_600_000;
const KEPT_EVERY_MS = 60_000;
const JUMP = 10n;

export class FeeHistory {
  #kept: { at: number; fee: bigint }[] = [];
  #isJump = false;

  /** Whether the newest fee is above ten times the median of the last hour. */
  get isJump(): boolean {
    return this.#isJump;
  }

  /** Notes a fee per gas in wei, read at `now` (`performance.now()`). */
  note(fee: bigint, now: number): void {
    this.#kept = this.#kept.filter(({ at }) => now - at < HOUR_MS);
    const sorted = this.#kept.map((one) => one.fee).sort((a, b) => (a < b ? -1 : 1));
    const median = sorted[Math.floor(sorted.length / 2)];
    this.#isJump = median !== undefined && fee > JUMP * median;
    if (now - (this.#kept.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= KEPT_EVERY_MS) {
      this.#kept.push({ at: now, fee });
    }
  }
}
