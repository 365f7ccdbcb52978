export interface Wakeup {
  /** Ends the wait under way, or the next one before it begins. */
  wake(): void;
  /** Resolves at the first wake, or after `ms`. */
  wait(ms: number): Promise<void>;
}

/** A pause that others can end. A wake between two waits is not lost. */
export function createWakeup(): Wakeup {
  let woken = false;
  let end: (() => void) | null = null;
  return {
    wake() {
      woken = true;
      end?.();
    },
    async wait(ms) {
      if (!woken && ms > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        end = null;
      }
      woken = false;
    },
  };
}
