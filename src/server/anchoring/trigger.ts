// Wakes an account loop that sleeps.

export type Trigger = ReturnType<typeof createTrigger>;

/** A pause that can be ended early. A `wake` between two waits is not lost. */
export function createTrigger() {
  let woken = false;
  let end: (() => void) | null = null;
  let busySince: number | null = performance.now();
  return {
    /** When the last wait ended (`performance.now()`); null during a wait. */
    get busySince() {
      return busySince;
    },
    /** Ends the current wait, or else the next one before it starts. */
    wake() {
      woken = true;
      end?.();
    },
    /** Resolves at the first `wake`, or after `ms`. */
    async wait(ms: number): Promise<void> {
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
