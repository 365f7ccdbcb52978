// Renews the lease of an anchoring account while it is held.
import { SvcError } from '../../base/svc-error.ts';
import type { Lease } from '../ports/anchoring.ts';
import type { AnchorerDependencies } from './context.ts';

/**
 * Renews the lease three times per TTL until `stop`. Calls `onLost` if another holder took the lease, or if it may have
 * expired because it could not be renewed in time.
 */
export function keepLease(
  deps: Pick<AnchorerDependencies, 'store' | 'clock' | 'logger' | 'options'>,
  lease: Lease,
  onLost: () => void,
): { stop(): Promise<void> } {
  const { store, clock, logger } = deps;
  const { leaseTtlMs } = deps.options;
  let renewedAt = performance.now();
  let stopped = false;
  let renewing: Promise<void> = Promise.resolve();
  const renew = async () => {
    const startedAt = performance.now();
    try {
      await store.renewLease(lease, leaseTtlMs, clock.now());
      renewedAt = startedAt;
    } catch (err) {
      if (isLeaseLost(err) || performance.now() - renewedAt >= leaseTtlMs) {
        onLost();
        return;
      }
      logger.warn({ err }, 'failed to renew anchoring lease; retrying');
    }
    schedule();
  };
  let timer: NodeJS.Timeout | undefined;
  const schedule = () => {
    if (stopped) return;
    timer = setTimeout(() => {
      renewing = renew();
    }, leaseTtlMs / 3);
  };
  schedule();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await renewing;
    },
  };
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof SvcError && error.code === 'lease_lost';
}
