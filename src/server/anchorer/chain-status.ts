import type { FeeQuote } from '../core/anchor-store.ts';
import type { AnchoringContext, Degradation } from './anchoring-context.ts';

/** So that a reader can tell a quiet anchorer from a dead one. */
const SAVED_AT_LEAST_EVERY_MS = 30_000;

export interface ChainStatus {
  /** Saves what changed, and logs what came and went. What is left out stays as it was. */
  save(
    context: AnchoringContext,
    standing: { degraded: readonly Degradation[]; parked?: number; quote?: FeeQuote | undefined },
  ): Promise<void>;
}

/** Keeps the store's word about chain and fees, without a commit where there is nothing new. */
export function createChainStatus(): ChainStatus {
  let savedDegraded = '';
  let savedParked = 0;
  let savedQuote: FeeQuote | undefined;
  let savedAt = Number.NEGATIVE_INFINITY;
  return {
    async save({ store, lease, clock, logger }, { degraded, parked = savedParked, quote }) {
      // By a clock that nobody sets, or a change of it would keep the status from being saved.
      const now = performance.now();
      const reasons = [...new Set(degraded)].sort();
      const text = reasons.join();
      const isNewQuote = quote !== undefined && !sameQuote(quote, savedQuote);
      const isSame = text === savedDegraded && parked === savedParked && !isNewQuote;
      if (isSame && now - savedAt < SAVED_AT_LEAST_EVERY_MS) return;
      await store.saveChainStatus(lease, {
        degraded: reasons,
        parked,
        now: clock.now(),
        ...(quote === undefined ? {} : { quote }),
      });
      if (text !== savedDegraded) {
        const sender = lease.sender;
        if (text === '') logger.info({ sender }, 'anchoring is well again');
        else logger.warn({ sender, degraded: reasons }, 'anchoring is degraded');
      }
      [savedDegraded, savedParked] = [text, parked];
      [savedQuote, savedAt] = [quote ?? savedQuote, now];
    },
  };
}

function sameQuote(a: FeeQuote, b: FeeQuote | undefined): boolean {
  return (
    a.singleGas === b?.singleGas &&
    a.baseFeePerGas === b.baseFeePerGas &&
    a.maxPriorityFeePerGas === b.maxPriorityFeePerGas &&
    a.dataFeeWei === b.dataFeeWei
  );
}
