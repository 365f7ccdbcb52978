import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { startTestService, type TestRobot, type TestService } from '../../support/service.ts';
import type { Reply } from '../../support/wire.ts';

function rate(reply: Reply): [number, number] {
  const value = (name: string) => Number(reply.headers.get(`x-ratelimit-${name}`));
  return [value('limit'), value('remaining')];
}

describe('limits', () => {
  const clock = createTestClock();
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  beforeEach(async () => {
    clock.advance(60_000);
    ({ robot } = await service.signInWithRobot());
  });
  afterAll(() => service.close());

  async function repeat(times: number, call: () => Promise<Reply>): Promise<Reply[]> {
    const replies: Reply[] = [];
    while (replies.length < times) {
      const round = Math.min(50, times - replies.length);
      replies.push(...(await Promise.all(Array.from({ length: round }, call))));
    }
    return replies;
  }

  function expectRefused(reply: Reply, limit: number): void {
    expect(reply.status).toBe(429);
    expect(reply.body.error).toBe('rate_limited');
    expect(reply.body.retry_after).toBe(Number(reply.headers.get('retry-after')));
    expect(reply.body.retry_after).toBeGreaterThanOrEqual(1);
    expect(reply.body.retry_after).toBeLessThanOrEqual(60);
    expect(rate(reply)).toEqual([limit, 0]);
  }

  it('allow 600 calls a minute per robot, of any kind', async () => {
    const id = await service.claim(robot);
    const call = () => service.call('GET', `/api/v1/tasks/${id}`, { apiKey: robot.apiKey });

    const replies = await repeat(599, call);
    const refused = await call();

    expect(replies.every(({ status }) => status === 200)).toBe(true);
    expect(Math.min(...replies.map((reply) => rate(reply)[1]))).toBe(0);
    expectRefused(refused, 600);
    clock.advance(59_999);
    expectRefused(await call(), 600);
    clock.advance(1);
    expect(rate(await call())).toEqual([600, 599]);
  });
});
