// Wakes an account loop that sleeps.
export interface Trigger {
  /** Ends the wait under way, or the next one before it begins. */
  wake(): void;
  /** Resolves at the first wake, or after `ms`. */
  wait(ms: number): Promise<void>;
  /** When the last wait ended, of `performance.now()`; null during one. */
  readonly busySince: number | null;
}

/** A pause that others can end. A wake between two waits is not lost. */
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
