import { describe, expect, it } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('a disk below its floor', () => {
  it('accepts completions, but no claims, samples and events, until there is room again', async () => {
    const disk = { minFreeBytes: 1000, free: 2000 };
    const service = await startTestService({
      chain: 'mining',
      disk: { minFreeBytes: disk.minFreeBytes, freeBytes: async () => disk.free },
    });
    const robot = await service.makeRobot(await service.signIn());
    const taskId = await service.claim(robot);
    const post = (path: string, body: object) =>
      service.call('POST', path, { apiKey: robot.apiKey, body });
    const claim = () => post('/api/v1/tasks', { title: 'Sweep' });

    disk.free = 999;
    const refused = await waitFor('the floor to be seen', async () => {
      const reply = await claim();
      return reply.status !== 201 && reply;
    });
    const sample = await post('/api/v1/telemetry', { battery_pct: 50 });
    const event = await post('/api/v1/events', { event_type: 'info' });
    const completed = await service.complete(robot, taskId);
    const ready = await service.call('GET', '/readyz');
    disk.free = 2000;
    await waitFor('the room to be seen', async () => (await claim()).status === 201);

    for (const { status, body, headers } of [refused, sample, event]) {
      expect([status, body.error]).toEqual([503, 'storage_unavailable']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(completed.status).toBe(200);
    expect(ready.body.degraded).toContain('disk_low');
    await service.close();
  });
});
