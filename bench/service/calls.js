import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';

/**
 * Calls one after the other on each of many connections. Answers how many a second were answered with `expected`, after
 * the warm-up; any other answer ends it.
 *
 * @param {{ url: string, connections: number, warmUpSeconds?: number, seconds: number, expected: number,
 *   next: () => import('undici').Dispatcher.RequestOptions, begin?: () => Promise<void> }} options
 */
export async function callsPerSecond(options) {
  const { url, connections, warmUpSeconds = 3, seconds, expected, next, begin } = options;
  let answered = 0;
  let isOver = false;
  const work = async () => {
    const client = new Client(url, { headersTimeout: 0 });
    while (!isOver) {
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
  return perSecond;
}
