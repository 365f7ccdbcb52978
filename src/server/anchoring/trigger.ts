// Wakes an account loop that sleeps.

export interface Trigger {
  /** Ends the current wait, or else the next one before it starts. */
  wake(): void;
  /** Resolves at the first `wake`, or after `ms`. */
  wait(ms: number): Promise<void>;
  /** When the last wait ended (`performance.now()`); null during a wait. */
  readonly busySince: number | null;
}

/** A pause that can be ended early. A `wake` between two waits is not lost. */
export function createTrigger(): Trigger {
  let woken = false;
  let end: (() => void) | null = null;
  let busySince: number | null = performance.now();
  return {
    get busySince() {
      return busySince;
    },
    wake() {
      woken = true;
      end?.();
    },
    async wait(ms) {
      if (!woken && ms > 0) {
        busySince = null;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        end = null;
      }
      busySince = performance.now();
      woken = false;
    },
  };
}
