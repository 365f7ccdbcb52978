import type { Socket } from 'node:net';
import { whileConnected } from './while-connected.ts';

/** Runs `work` with a controller that aborts when the caller is gone or the server shuts down. */
export type Wait = <T>(socket: Socket, work: (enough: AbortController) => Promise<T>) => Promise<T>;

/**
 * One listener of the server's signal for all waits: a signal's listeners are walked at each one that is added, and
 * thousands of requests may wait.
 */
export function createWaits(stopping: AbortSignal): Wait {
  const waiting = new Set<AbortController>();
  stopping.addEventListener('abort', () => {
    for (const enough of waiting) enough.abort();
  });
  return async (socket, work) => {
    const enough = new AbortController();
    const leave = () => enough.abort();
    waiting.add(enough);
    if (stopping.aborted) leave();
    try {
      return await whileConnected(socket, leave, () => work(enough));
    } finally {
      waiting.delete(enough);
    }
  };
}
