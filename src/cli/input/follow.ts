// Waits for changes of the account: over the stream, and by polling in case the stream misses one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../client/client.ts';
import type { Change } from '../../protocol/stream.ts';

/** Polls at this interval while the stream is open, in ms. */
const POLL_WITH_STREAM_MS = 30_000;

/**
 * Follows changes of these kinds until `close`. `next` resolves when one may have happened since the last call, and at
 * the latest after `mostMs`, or without a stream after `pollMs`. The caller's read then reports why there is none.
 */
export function followChanges(client: Client, kinds: readonly Change['kind'][], pollMs: number) {
  const over = new AbortController();
  let isOpen = false;
  let hasNews = false;
  let wake = () => {};

  async function follow(): Promise<void> {
    while (!over.signal.aborted) {
      try {
        for await (const changes of client.changes(over.signal)) {
          isOpen = true;
          hasNews ||= changes === null || changes.some(({ kind }) => kinds.includes(kind));
          if (hasNews) wake();
        }
      } catch {}
      isOpen = false;
      wake();
      await sleep(pollMs, undefined, { signal: over.signal }).catch(() => {});
    }
  }
  void follow();

  return {
    async next(mostMs = POLL_WITH_STREAM_MS): Promise<void> {
      const timer = new AbortController();
      wake = () => timer.abort();
      const ms = Math.min(mostMs, isOpen ? POLL_WITH_STREAM_MS : pollMs);
      if (!hasNews) await sleep(ms, undefined, { signal: timer.signal }).catch(() => {});
      hasNews = false;
    },
    close: () => over.abort(),
  };
}
