// The loop of one anchoring account: takes and renews the lease, runs the anchor loop, retries.
import { v7 as newId } from 'uuid';
import { backoffMs } from '../../base/async/backoff.ts';
import { onAbort, passed } from '../../base/async/on-abort.ts';
import type { Trigger } from '../../base/async/triggers.ts';
import { ProviderError } from '../../chain/errors.ts';
import type { Lease } from '../ports/anchoring.ts';
import { FOLLOWER } from '../rules/anchoring.ts';
import { runAnchorLoop } from './anchor-loop.ts';
import {
  type AccountLoopDependencies,
  type AnchorerDependencies,
  type AnchoringContext,
  isLeaseLost,
  RETRY,
} from './context.ts';

/** How often an instance without the lease tries to take it. */
const LOOK_MS = 500;

/**
 * Runs one account: takes its lease, then runs the anchor loop. Returns when the signal aborts, or, without a key, when
 * nothing is left to follow. Errors are logged once per series, reported as a degradation, and retried.
 */
export async function runAccountLoop(
  deps: AccountLoopDependencies,
  signal: AbortSignal,
  trigger: Trigger,
): Promise<void> {
  const { store, address, clock, options } = deps;
  const logger = deps.logger.child({ sender: address });
  const holder = deps.key === null ? `${FOLLOWER}${newId()}` : newId();
  onAbort(signal, trigger.wake);
  let failures = 0;
  let shortLeases = 0;
  let waiting: keyof typeof waits | null = null;
  while (!signal.aborted) {
    try {
      const identity = await knownIdentity(deps, signal);
      const sender = { chainId: identity.chainId, address };
      const lease = await store.acquireLease(sender, holder, options.leaseTtlMs, clock.now());
      failures = 0;
      if (lease !== null) {
        waiting = null;
        const startedAt = performance.now();
        const isOver = await runUnderLease(deps, { lease, identity }, { stop: signal, trigger });
        if (isOver) return;
        // Back off, so that a lease that is lost as soon as it is taken does not keep the processor busy.
        shortLeases = performance.now() - startedAt < options.leaseTtlMs ? shortLeases + 1 : 0;
        await trigger.wait(0);
        if (shortLeases > 0 && !signal.aborted) await trigger.wait(backoffMs(shortLeases, RETRY));
        continue;
      }
      deps.onChecked();
      const { degraded = [] } = (await store.getChainStatus()) ?? {};
      const isPaused = degraded.includes('restored') || degraded.includes('key_not_reconciled');
      const state = isPaused ? 'paused' : 'other';
      if (state !== waiting) logger[isPaused ? 'warn' : 'info'](waits[state]);
      waiting = state;
      await trigger.wait(LOOK_MS);
    } catch (err) {
      if (signal.aborted) return;
      failures += 1;
      deps.onChecked();
      if (failures === 1) {
        const detail = err instanceof ProviderError ? { reason: err.reason } : { err };
        logger.warn(detail, 'anchoring could not start; retrying');
      }
      await trigger.wait(backoffMs(failures, RETRY));
    }
  }
}

const waits = {
  paused:
    'anchoring is paused: the database was restored, or svc-server hold was run; run svc-server reconcile',
  other: 'waiting: another process anchors for this account',
};

/** The chain of the database. Once it is bound, the lease can be taken without reaching the chain. */
async function knownIdentity({ store, chain }: AccountLoopDependencies, signal: AbortSignal) {
  const known = await store.getChainIdentity();
  if (known !== null) return known;
  const identity = await chain.identity(signal);
  await store.bindChain(identity);
  return identity;
}

/** Runs the anchor loop under the lease, and releases it. Returns true if the account has nothing left to follow. */
async function runUnderLease(
  deps: AccountLoopDependencies,
  held: Pick<AnchoringContext, 'lease' | 'identity'>,
  run: { stop: AbortSignal; trigger: Trigger },
): Promise<boolean> {
  const { store, logger } = deps;
  const { lease } = held;
  const over = new AbortController();
  const end = () => {
    over.abort();
    run.trigger.wake();
  };
  const forget = onAbort(run.stop, end);
  const keeper = keepLease(deps, lease, end);
  try {
    if (await runAnchorLoop({ ...deps, ...held, signal: over.signal }, run.trigger)) return true;
  } catch (error) {
    if (!isLeaseLost(error)) throw error;
  } finally {
    over.abort();
    forget();
    await keeper.stop();
    await store.releaseLease(lease).catch((err: unknown) => {
      if (!isLeaseLost(err)) logger.warn({ err }, 'failed to release anchoring lease');
    });
  }
  if (!run.stop.aborted) logger.warn({ sender: lease.sender }, 'lost anchoring lease');
  return false;
}

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
  const stopping = new AbortController();
  const keep = async () => {
    let renewedAt = performance.now();
    while (await passed(leaseTtlMs / 3, stopping.signal)) {
      const startedAt = performance.now();
      try {
        await store.renewLease(lease, leaseTtlMs, clock.now());
        renewedAt = startedAt;
      } catch (err) {
        if (isLeaseLost(err) || performance.now() - renewedAt >= leaseTtlMs) return onLost();
        logger.warn({ err }, 'failed to renew anchoring lease; retrying');
      }
    }
  };
  const keeping = keep();
  return {
    stop() {
      stopping.abort();
      return keeping;
    },
  };
}
