export interface Pace {
  /** Call with every head that is seen. */
  note(head: bigint, now: number): void;
  /** Between two looks for receipts. */
  pollMs(): number;
  /** Between two surveys of fees and funds: about a block. */
  surveyMs(): number;
}

/** Follows how fast the chain makes blocks, so that a slow chain is not asked more than it can tell. */
export function createPace(): Pace {
  let blockMs = 1_000;
  let seen: { head: bigint; at: number } | null = null;
  return {
    note(head, now) {
      if (seen !== null && head <= seen.head) return;
      if (seen !== null) {
        const measured = (now - seen.at) / Number(head - seen.head);
        blockMs = (3 * blockMs + measured) / 4;
      }
      seen = { head, at: now };
    },
    pollMs: () => clamp(blockMs / 8, 50, 1_000),
    surveyMs: () => clamp(blockMs, 1_000, 15_000),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
