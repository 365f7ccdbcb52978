import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { newWallet, startTestService, type TestService } from '../support/service.ts';

const WINDOW_MS = 60_000;
const LIMIT = limits.challengesPerWindow;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

const challenge = (address: string) =>
  service.call('POST', '/api/auth/challenge', { body: { address } });

it('a window ends with the minute of the real clock, and retry_after is the number of seconds to its end', async () => {
  // The clock of this machine, which is the service's too.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const minute = Date.now() - (Date.now() % WINDOW_MS) + WINDOW_MS;
  const { address } = newWallet();
  vi.setSystemTime(minute + 12_300);
  const taken = await Promise.all(Array.from({ length: LIMIT }, () => challenge(address)));
  expect(taken.map(({ status }) => status)).toEqual(Array(LIMIT).fill(200));

  for (const [ms, seconds] of [
    [12_300, 48],
    [59_001, 1],
    [59_999, 1],
  ] as const) {
    vi.setSystemTime(minute + ms);
    const refused = await challenge(address);

    expect(refused.status).toBe(429);
    expect(refused.body.retry_after).toBe(seconds);
    expect(refused.headers.get('retry-after')).toBe(`${seconds}`);
  }

  vi.setSystemTime(minute + WINDOW_MS);
  const first = await challenge(address);

  expect(first.status).toBe(200);
  expect(first.headers.get('x-ratelimit-remaining')).toBe(String(LIMIT - 1));
});
