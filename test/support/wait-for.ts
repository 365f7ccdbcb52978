import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves with the first value that is neither null, undefined nor false; rejects at the deadline, which ends
 * what hangs and measures nothing.
 */
export async function waitFor<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false> | T | null | undefined | false,
  deadlineMs = 60_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = await probe();
    if (value !== null && value !== undefined && value !== false) return value;
    if (performance.now() > end) throw new Error(`Waited ${deadlineMs} ms in vain for ${what}`);
    await sleep(20);
  }
}
