import type { Deps } from './deps.ts';
import { fault } from './fault.ts';

const HEAD_READ_MS = 2_000;

/**
 * Whether requests can be taken, and why anchoring is not at its best. Throws `storage_unavailable`
 * when a write would not become durable, or the server shuts down.
 */
export async function getReadiness({
  store,
  chain,
  stopping,
}: Deps): Promise<{ status: 'ready' | 'degraded'; degraded: string[] }> {
  if (stopping.aborted) throw fault('storage_unavailable', 'The service is shutting down.');
  const [, status, reached] = await Promise.all([
    store.probe(),
    store.getChainStatus(),
    within(HEAD_READ_MS, chain.headNumber()),
  ]);
  const degraded = new Set(status?.degraded);
  // The anchorer saves a status as soon as it knows its chain and holds its lease.
  if (status === null) degraded.add('anchoring_not_started');
  if (!reached) degraded.add('chain_unreachable');
  return { status: degraded.size === 0 ? 'ready' : 'degraded', degraded: [...degraded].sort() };
}

/** Whether the promise is fulfilled in time. */
async function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
