// Starts an account loop for each anchoring account, and watches that they make progress.
import type { AnchorKey } from '../../chain/anchor-key.ts';
import type { Store } from '../ports/store.ts';
import { runAccountLoop } from './account-loop.ts';
import type { AnchorerDependencies } from './context.ts';
import { createQueueLock, type QueueLock } from './queue-lock.ts';
import { createTrigger } from './trigger.ts';

export interface Anchorer {
  /** Start of the round that has lasted longest, of `performance.now()`; null while all loops wait. */
  busySince(): number | null;
  /**
   * Takes no new work, ends what is under way at the next durable step, releases the leases. Waits for
   * no chain: what is open is followed by whoever holds the lease next.
   */
  drain(): Promise<void>;
}

/**
 * Starts anchoring: an account loop for each key, and one without a key for each other account that has left attempts
 * open. They never end by themselves before `drain`, but for those without a key once all is final.
 */
export function startAnchorer(
  deps: AnchorerDependencies & { keys: readonly AnchorKey[] },
): Anchorer {
  const { keys, ...shared } = deps;
  const stop = new AbortController();
  const queueLock = createQueueLock();
  const loops = keys.map((key) => ({ key, trigger: createTrigger() }));
  const running = loops.map(({ key, trigger }) =>
    runAccountLoop({ ...shared, key, address: key.address, queueLock }, stop.signal, trigger),
  );
  const own = keys.map(({ address }) => address);
  const following = followOthers(shared, own, { queueLock, signal: stop.signal });
  return {
    busySince() {
      const rounds = loops.flatMap(({ trigger: { busySince } }) => busySince ?? []);
      return rounds.length === 0 ? null : Math.min(...rounds);
    },
    async drain() {
      stop.abort();
      await Promise.all([...running, following]);
    },
  };
}

/** Looks now and then which accounts have something open that no engine of this process follows. */
async function followOthers(
  deps: AnchorerDependencies,
  own: readonly string[],
  { queueLock, signal }: { queueLock: QueueLock; signal: AbortSignal },
): Promise<void> {
  const { store, logger, options } = deps;
  const followed = new Map<string, Promise<void>>();
  const trigger = createTrigger();
  signal.addEventListener('abort', trigger.wake);
  while (!signal.aborted) {
    try {
      const [identity, senders] = await Promise.all([
        store.getChainIdentity(),
        store.listOpenSenders(),
      ]);
      for (const { chainId, address } of senders) {
        if (chainId !== identity?.chainId || own.includes(address) || followed.has(address))
          continue;
        logger.info({ sender: address }, 'following what an account without its key has open');
        const engine = runAccountLoop(
          { ...deps, key: null, address, queueLock },
          signal,
          createTrigger(),
        );
        followed.set(
          address,
          engine.finally(() => followed.delete(address)),
        );
      }
    } catch (err) {
      logger.warn({ err }, 'accounts with open attempts could not be listed; trying again');
    }
    await trigger.wait(options.leaseTtlMs);
  }
  await Promise.all(followed.values());
}

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
