import type { AnchoringPauses } from './anchoring-context.ts';

export interface Pace {
  /** Call with every head that is seen. */
  note(head: bigint, now: number): void;
  /** Between two looks for receipts. */
  pollMs(): number;
  /** Between two surveys of fees and funds: about a block. */
  surveyMs(): number;
  /** Between two transactions, so that as many as there are places in flight spread over a block. */
  slotMs(places: number): number;
}

/** A lone proof waits no longer for company, however slow the chain. */
const MAX_SLOT_MS = 1_000;

/** Follows how fast the chain makes blocks, so that a slow chain is not asked more than it can tell. */
export function createPace(least: AnchoringPauses): Pace {
  let { blockMs } = least;
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
    pollMs: () => clamp(blockMs / 8, least.pollMs, 1_000),
    surveyMs: () => clamp(blockMs, least.surveyMs, 15_000),
    slotMs: (places) => clamp(blockMs / places, 0, MAX_SLOT_MS),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
