import { expect, it } from 'vitest';
import { createTestClock } from '../../support/clock.ts';
import { startTestService } from '../../support/service.ts';

const MINUTES = 60_000;

it('limits anonymous callers to 1000 open codes, then answers overloaded', async () => {
  const clock = createTestClock();
  const service = await startTestService({ clock });
  const start = () => service.call('POST', '/api/auth/cli/device', { body: { name: 'x' } });
  try {
    for (let i = 0; i < 10; i += 1) await Promise.all(Array.from({ length: 100 }, start));

    const refused = await start();
    expect([refused.status, refused.body.error]).toEqual([503, 'overloaded']);
    clock.advance(10 * MINUTES);
    expect((await start()).status).toBe(201);
  } finally {
    await service.close();
  }
});
