// Starts an account loop for each anchoring account and the chain proofs, and watches that the loops make progress.
import { setMaxListeners } from 'node:events';
import { passed } from '../../base/async/on-abort.ts';
import { createTrigger } from '../../base/async/triggers.ts';
import type { AnchorKey } from '../../chain/keys/anchor-key.ts';
import type { Store } from '../ports/store.ts';
import { runAccountLoop } from './account-loop.ts';
import { keepChainProofs } from './chain-proofs.ts';
import type { AccountLoopDependencies, AnchorerDependencies } from './context.ts';
import { QueueLock } from './queue-lock.ts';

export type Anchorer = ReturnType<typeof startAnchorer>;

/**
 * Starts anchoring: an account loop for each key, and one without a key for each other account with open attempts.
 * Loops with a key run until `drain`; loops without one end when everything of their account is final.
 */
export function startAnchorer(
  deps: AnchorerDependencies & {
    keys: readonly AnchorKey[];
    /** Called once, when each key's account was checked. */
    onChecked?: () => void;
  },
) {
  const { keys, ...shared } = deps;
  const stop = new AbortController();
  // Each account, and each of its waits, adds a listener.
  setMaxListeners(0, stop.signal);
  const shares = { queueLock: new QueueLock(), idle: { accounts: keys.length, freeAt: 0 } };
  const loops = keys.map((key) => ({ key, trigger: createTrigger() }));
  const unchecked = new Set(loops);
  const running = loops.map((loop) => {
    const { key, trigger } = loop;
    const onChecked = () => {
      if (unchecked.delete(loop) && unchecked.size === 0) shared.onChecked?.();
    };
    const own = { key, address: key.address, onChecked };
    return runAccountLoop({ ...shared, ...shares, ...own }, stop.signal, trigger);
  });
  const own = keys.map(({ address }) => address);
  const following = followOthers({ ...shared, ...shares }, own, stop.signal);
  const proving = shared.options.chainProofs ? keepChainProofs(shared, stop.signal) : null;
  return {
    /** Start (`performance.now()`) of the current round that has lasted longest; null while all loops wait. */
    busySince(): number | null {
      const rounds = loops.flatMap(({ trigger: { busySince } }) => busySince ?? []);
      return rounds.length === 0 ? null : Math.min(...rounds);
    },
    /**
     * Stops: takes no new work, ends current work at its next durable step, and releases the leases. Does not wait for
     * the chain: the next holder of a lease follows its open attempts.
     */
    async drain(): Promise<void> {
      stop.abort();
      await Promise.all([...running, following, proving]);
    },
  };
}

const PROBE_EVERY_MS = 10_000;
/** One round asks the chain several times, and a slow provider takes 10 s for each call. A restart would not help. */
const ROUND_MS = 5 * 60_000;

/**
 * Watches that the store answers, even with a refusal, and that the anchorer completes its rounds. A full disk or an
 * unreachable chain does not count as stuck: a restart helps with neither. A round may take 5 minutes.
 */
export function watchProgress(
  { store, anchorer }: { store: Pick<Store, 'probe'>; anchorer: Pick<Anchorer, 'busySince'> },
  everyMs = PROBE_EVERY_MS,
) {
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
    /** Since when the store or the anchorer has been stuck (`performance.now()`); now, if neither is. */
    at(): number {
      const busySince = anchorer.busySince();
      const anchoringAt = busySince === null ? Number.POSITIVE_INFINITY : busySince + ROUND_MS;
      return Math.min(probedAt ?? performance.now(), anchoringAt);
    },
    stop: () => clearInterval(timer),
  };
}

/** Regularly starts loops for accounts that have open attempts and no loop in this process. */
async function followOthers(
  deps: AnchorerDependencies & Pick<AccountLoopDependencies, 'queueLock' | 'idle'>,
  own: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { store, logger, options } = deps;
  const followed = new Map<string, Promise<void>>();
  while (!signal.aborted) {
    try {
      const [identity, senders] = await Promise.all([
        store.getChainIdentity(),
        store.listOpenSenders(),
      ]);
      for (const { chainId, address } of senders) {
        if (chainId !== identity?.chainId || own.includes(address) || followed.has(address))
          continue;
        logger.info({ sender: address }, 'following open transactions of an account without key');
        const follower = { key: null, address, onChecked() {} };
        const loop = runAccountLoop({ ...deps, ...follower }, signal, createTrigger());
        followed.set(
          address,
          loop.finally(() => followed.delete(address)),
        );
      }
    } catch (err) {
      logger.warn({ err }, 'failed to list accounts with open transactions; retrying');
    }
    await passed(options.leaseTtlMs, signal);
  }
  await Promise.all(followed.values());
}
