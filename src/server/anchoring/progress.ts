import type { Store } from '../ports/store.ts';
import type { Anchorer } from './anchorer.ts';

const PROBE_EVERY_MS = 10_000;
/** One round asks the chain several times, and a slow provider takes 10 s for each; no restart would mend that. */
const ROUND_MS = 5 * 60_000;

export interface Progress {
  /** Since when the store or the anchorer stands still, of `performance.now()`; now, where neither does. */
  at(): number;
  stop(): void;
}

/**
 * Watches whether the store answers, be it with a refusal, and whether the anchorer goes round. A full disk and a dead
 * chain are no standstill: a restart mends neither. A round of the anchorer may take 5 minutes.
 */
export function watchProgress(
  { store, anchorer }: { store: Pick<Store, 'probe'>; anchorer: Pick<Anchorer, 'busySince'> },
  everyMs = PROBE_EVERY_MS,
): Progress {
  let probedAt: number | null = null;
  const probe = () => {
    if (probedAt !== null) return;
    probedAt = performance.now();
    const answered = () => {
      probedAt = null;
    };
    store.probe().then(answered, answered);
  };
  const timer = setInterval(probe, everyMs).unref();
  return {
    at() {
      const busySince = anchorer.busySince();
      const anchoringAt = busySince === null ? Number.POSITIVE_INFINITY : busySince + ROUND_MS;
      return Math.min(probedAt ?? performance.now(), anchoringAt);
    },
    stop: () => clearInterval(timer),
  };
}
