import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import { sized } from '../quick.js';

/**
 * Calls one after the other on each of many connections. Answers how many were answered with `expected`, warm-up
 * included, and how many a second after it; any other answer ends it. With `mostPerSecond` calls wait for their turn.
 *
 * @param {{ url: string, connections: number, warmUpSeconds?: number, seconds: number, expected: number, mostPerSecond?: number,
 *   next: () => import('undici').Dispatcher.RequestOptions, begin?: () => Promise<void> }} options
 */
export async function callsPerSecond(options) {
  const {
    url,
    connections,
    warmUpSeconds = sized(3, 0.2),
    seconds,
    expected,
    next,
    begin,
  } = options;
  const everyMs = 1000 / (options.mostPerSecond ?? Number.POSITIVE_INFINITY);
  const begunAt = performance.now();
  let sent = 0;
  let answered = 0;
  let isOver = false;
  const work = async () => {
    const client = new Client(url, { headersTimeout: 0 });
    while (!isOver) {
      const waitMs = begunAt + everyMs * sent - performance.now();
      sent += 1;
      if (waitMs > 0) await sleep(waitMs);
      const { statusCode, body } = await client.request(next());
      const text = await body.text();
      if (statusCode !== expected) throw new Error(`A call was answered ${statusCode}: ${text}`);
      answered += 1;
    }
    await client.close();
  };
  const working = Promise.all(Array.from({ length: connections }, work));
  await Promise.race([sleep(warmUpSeconds * 1000), working]);
  await begin?.();
  const [before, startedAt] = [answered, performance.now()];
  await Promise.race([sleep(seconds * 1000), working]);
  const perSecond = ((answered - before) * 1000) / (performance.now() - startedAt);
  isOver = true;
  await working;
  return { perSecond, answered };
}

/** The request of a robot. */
export function post(path, apiKey, body) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  return { method: 'POST', path, headers, body };
}

/** Gives one after the other, again and again: with many, none meets a limit. */
export function inTurn(items) {
  let turn = 0;
  return () => items[turn++ % items.length];
}
