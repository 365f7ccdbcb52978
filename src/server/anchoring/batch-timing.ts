// When the next batch is signed: queue changes, minimum window and block-time estimate.
import type { AnchorStore } from '../ports/anchoring.ts';
import type { AnchoringPauses } from './context.ts';

export interface QueueWatch {
  /** Whether the queue is worth a look. */
  readonly mayHold: boolean;
  /** Call before looking: what is queued from then on raises `mayHold` again. */
  rearm(): void;
  /** Raises `mayHold` by hand: something was left behind, or a hint may have been missed. */
  raise(): void;
}

/** Turns the store's hints into a flag, so that a proof queued between two looks is not missed. */
export function watchQueue(store: AnchorStore, signal: AbortSignal, wake: () => void): QueueWatch {
  let mayHold = true;
  let armed = false;
  return {
    get mayHold() {
      return mayHold;
    },
    rearm() {
      mayHold = false;
      if (armed) return;
      armed = true;
      store.waitForQueuedProof(signal).then(
        () => {
          armed = false;
          mayHold = true;
          wake();
        },
        // A missed hint costs time, not a proof: the regular survey raises the flag as well.
        () => {
          armed = false;
        },
      );
    },
    raise() {
      mayHold = true;
    },
  };
}

export interface BatchTiming {
  /** Call with every head that is seen. */
  note(head: bigint, now: number): void;
  /** Between two looks for receipts. */
  pollMs(): number;
  /** Between two surveys of fees and funds: about a block. */
  senderStateMs(): number;
  /** Between two transactions, so that as many as there are places in flight spread over a block. */
  slotMs(places: number): number;
}

/** A lone proof waits no longer for company, however slow the chain. */
const MAX_SLOT_MS = 1_000;

/** Follows how fast the chain makes blocks, so that a slow chain is not asked more than it can tell. */
export function createBatchTiming(least: AnchoringPauses): BatchTiming {
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
    senderStateMs: () => clamp(blockMs, least.senderStateMs, 15_000),
    slotMs: (places) => clamp(blockMs / places, 0, MAX_SLOT_MS),
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
