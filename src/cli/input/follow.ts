// Waits for changes of the account: over the stream, with polling as the net.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../client/client.ts';
import type { Change } from '../../protocol/stream.ts';

/** Polls at this interval while the stream is open, in ms. */
const NET_MS = 30_000;

export interface Follower {
  /** Resolves when something may have changed since the last call, or after at most so many ms. */
  next(mostMs?: number): Promise<void>;
  close(): void;
}

/** Follows changes of these kinds. Without a stream, `next` resolves every `pollMs`. The reads then report why. */
export function followChanges(
  client: Client,
  kinds: readonly Change['kind'][],
  pollMs: number,
): Follower {
  const over = new AbortController();
  let isOpen = false;
  let hasNews = false;
  let wake = () => {};

  async function follow(): Promise<void> {
    for await (const changes of client.changes(over.signal)) {
      isOpen = true;
      hasNews ||= changes === null || changes.some(({ kind }) => kinds.includes(kind));
      if (hasNews) wake();
    }
  }
  async function keepFollowing(): Promise<void> {
    while (!over.signal.aborted) {
      await follow().catch(() => {});
      isOpen = false;
      wake();
      await sleep(pollMs, undefined, { signal: over.signal }).catch(() => {});
    }
  }
  void keepFollowing();

  return {
    async next(mostMs = NET_MS) {
      const timer = new AbortController();
      wake = () => timer.abort();
      const ms = Math.min(mostMs, isOpen ? NET_MS : pollMs);
      if (!hasNews) await sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
      hasNews = false;
    },
    close: () => over.abort(),
  };
}
