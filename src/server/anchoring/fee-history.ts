// Remembers the fees of the last hour, to report a jump.

export interface FeeHistory {
  /** Notes a fee per gas in wei, read at `now` (`performance.now()`). */
  note(feePerGas: bigint, now: number): void;
  /** Whether the newest fee is above ten times the median of the last hour. */
  readonly isJump: boolean;
}

const HOUR_MS = 3_600_000;
const KEPT_EVERY_MS = 60_000;
const JUMP = 10n;

export function createFeeHistory(): FeeHistory {
  let kept: { at: number; fee: bigint }[] = [];
  let isJump = false;
  return {
    get isJump() {
      return isJump;
    },
    note(fee, now) {
      kept = kept.filter(({ at }) => now - at < HOUR_MS);
      const sorted = kept.map((one) => one.fee).sort((a, b) => (a < b ? -1 : 1));
      const median = sorted[Math.floor(sorted.length / 2)];
      isJump = median !== undefined && fee > JUMP * median;
      if (now - (kept.at(-1)?.at ?? Number.NEGATIVE_INFINITY) >= KEPT_EVERY_MS) {
        kept.push({ at: now, fee });
      }
    },
  };
}
