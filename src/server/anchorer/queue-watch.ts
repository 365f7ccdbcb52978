import type { AnchorStore } from '../core/anchor-store.ts';

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
