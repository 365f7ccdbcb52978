// @module-tag full
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { newWallet, startTestService, type TestService } from '../support/service.ts';

const WINDOW_MS = 60_000;
const LIMIT = limits.challengesPerWindow;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

/** By the clock of this machine, which is the service's too. */
async function timedChallenge(address: string) {
  const askedAt = Date.now();
  const reply = await service.call('POST', '/api/auth/challenge', { body: { address } });
  return { askedAt, answeredAt: Date.now(), reply };
}

it('a window ends with the minute of the real clock, and retry_after counts the seconds to it', {
  timeout: 90_000,
}, async () => {
  const { address } = newWallet();
  // Time enough to use the limit up before the minute ends.
  const left = WINDOW_MS - (Date.now() % WINDOW_MS);
  if (left < 5_000) await sleep(left + 100);
  const end = Date.now() - (Date.now() % WINDOW_MS) + WINDOW_MS;
  const taken = await Promise.all(Array.from({ length: LIMIT }, () => timedChallenge(address)));

  const refused = await timedChallenge(address);
  await sleep(end - 1_000 - Date.now());
  const nearTheEnd = [];
  do nearTheEnd.push(await timedChallenge(address));
  while (nearTheEnd.at(-1)?.reply.status === 429);

  expect(taken.map(({ reply }) => reply.status)).toEqual(Array(LIMIT).fill(200));
  for (const { askedAt, answeredAt, reply } of [refused, ...nearTheEnd.slice(0, -1)]) {
    expect(reply.status).toBe(429);
    expect(askedAt).toBeLessThan(end);
    expect(reply.body.retry_after).toBeLessThanOrEqual(Math.ceil((end - askedAt) / 1000));
    const least = Math.max(1, Math.ceil((end - answeredAt) / 1000));
    expect(reply.body.retry_after).toBeGreaterThanOrEqual(least);
    expect(reply.headers.get('retry-after')).toBe(String(reply.body.retry_after));
  }
  const first = nearTheEnd.at(-1);
  expect(nearTheEnd.length).toBeGreaterThan(1);
  expect(first?.reply.status).toBe(200);
  expect(first?.answeredAt).toBeGreaterThanOrEqual(end);
  expect(first?.reply.headers.get('x-ratelimit-remaining')).toBe(String(LIMIT - 1));
});
