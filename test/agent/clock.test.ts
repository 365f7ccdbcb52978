import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Instant } from '../../src/agent/clock.ts';
import { bodyOf, givenTime, timeOf } from '../../src/agent/spool/clock-correction.ts';
import { sampleBody } from '../../src/agent/uploads/samples.ts';
import { limits } from '../../src/protocol/limits.ts';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { createAgentClock, type TestAgentClock } from '../support/agent-clock.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../support/service-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const HOUR = 60 * 60_000;
const BOOT_1970 = 40_000;

describe('the time of a record', () => {
  const instant: Instant = { wallMs: BOOT_1970, boot: 7, monoMs: 30_000 };
  const epochMs = Date.UTC(2026, 10, 21);

  it('is that of the wall clock, unless it was more than a minute off', () => {
    const at = (off: number) => ({ ...instant, wallMs: epochMs + instant.monoMs + off });

    expect(timeOf(at(59_000), epochMs)).toEqual({ ms: at(59_000).wallMs, corrected: false });
    expect(timeOf(at(61_000), epochMs)).toEqual({ ms: at(0).wallMs, corrected: true });
    expect(timeOf(instant, null)).toEqual({ ms: BOOT_1970, corrected: false });
  });

  it('without a zone in an old spool record is sent unchanged, as UTC', () => {
    const occurred_at = '2026-11-21T00:00:20';
    const record = { kind: 'event', id: 'a', ...instant, wallMs: epochMs } as const;
    const sentOf = (epoch: number) =>
      bodyOf({ ...record, body: JSON.stringify({ occurred_at }) }, epoch).occurred_at;

    expect(sentOf(epochMs)).toBe(occurred_at);
    expect(sentOf(epochMs - HOUR)).toBe('2026-11-20T23:00:50.000Z');
  });

  it('that a program gave is corrected if it came from the wrong clock', () => {
    const time = timeOf(instant, epochMs);

    expect(givenTime(BOOT_1970 - 5000, instant, time)).toEqual({
      ms: time.ms - 5000,
      corrected: true,
    });
    const ofSatellites = time.ms - 5000;
    expect(givenTime(ofSatellites, instant, time)).toEqual({ ms: ofSatellites, corrected: false });
  });

  it('keeps the order and intervals within a boot, however wrong the wall clock was', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 2 * 60_000, max: 10 ** 12 }), (gaps, wrong) => {
        let monoMs = 0;
        const instants = gaps.map((gap) => {
          monoMs += gap;
          return { boot: 1, monoMs, wallMs: epochMs + monoMs - wrong };
        });
        const times = instants.map((one) => timeOf(one, epochMs).ms);
        expect(times).toEqual(instants.map((one) => epochMs + one.monoMs));
      }),
    );
  });

  it('is marked as corrected in the metrics, unless they would grow too large', () => {
    const record = (metrics: object) => ({
      kind: 'sample' as const,
      id: '01a1fa88-6262-702f-af77-0aaec0d1b17b',
      ...instant,
      body: JSON.stringify({ metrics }),
    });

    expect(sampleBody(record({ speed: 1 }), epochMs).metrics).toEqual({
      speed: 1,
      svc_agent_clock: {
        wall: '1970-01-01T00:00:40.000Z',
        boot: '000000000007',
        monotonic_ms: 30_000,
      },
    });
    const full = { text: 'x'.repeat(limits.metricsBytes - 30) };
    expect(sampleBody(record(full), epochMs).metrics).toEqual(full);
  });
});

describe('a robot with a wrong clock', () => {
  let service: TestService;
  let proxy: ServiceProxy;
  let owner: Owner;
  let robot: TestRobot;
  let agent: TestAgent;
  let clock: TestAgentClock;

  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service?.close());

  beforeEach(async () => {
    proxy = await startServiceProxy(service.url);
    ({ owner, robot } = await service.signInWithRobot());
    clock = createAgentClock(BOOT_1970);
    agent = await createTestAgent({ url: proxy.url, apiKey: robot.apiKey, clock });
    proxy.cut();
    await agent.start();
  });
  afterEach(async () => {
    await agent.remove();
    await proxy.close();
  });

  const delivered = async (count: number) => {
    const path = `/api/v1/robots/${robot.id}/telemetry`;
    const items = await waitFor(
      `${count} samples`,
      async () => {
        const { body } = await service.call('GET', path, { session: owner.session });
        return body.items.length === count ? body.items : null;
      },
      60_000,
    );
    const sorted = items.sort(
      (a: { metrics: { n: number } }, b: { metrics: { n: number } }) => a.metrics.n - b.metrics.n,
    );
    return sorted as { recorded_at: string; metrics: { svc_agent_clock?: object } }[];
  };
  /** Hours before now, roughly. */
  const ages = (samples: { recorded_at: string }[]) =>
    samples.map(({ recorded_at: at }) => Math.round((Date.now() - Date.parse(at)) / HOUR));
  const record = (n: number) => agent.record([{ metrics: { n } }]);

  it('delivers nothing until the service has sent the time, then delivers correct times', async () => {
    await record(0);
    clock.advance(2 * HOUR);
    await record(1);
    clock.advance(HOUR);
    proxy.restore();

    const samples = await delivered(2);

    expect(ages(samples)).toEqual([3, 1]);
    expect(samples.every(({ metrics }) => metrics.svc_agent_clock !== undefined)).toBe(true);
  });

  it('corrects records from before the clock was set, and none from after', async () => {
    await record(0);
    clock.advance(HOUR);
    clock.set(Date.now() - HOUR);
    await record(1);
    clock.advance(HOUR);
    proxy.restore();

    const samples = await delivered(2);

    expect(ages(samples)).toEqual([2, 1]);
    expect(samples.map(({ metrics }) => metrics.svc_agent_clock !== undefined)).toEqual([
      true,
      false,
    ]);
  });

  it('corrects a boot that never reached the service: it ended before the next boot', async () => {
    await record(0);
    clock.advance(HOUR);
    await record(1);
    await agent.stop();
    clock.reboot(BOOT_1970);
    await agent.start();
    clock.advance(2 * HOUR);
    proxy.restore();

    expect(ages(await delivered(2))).toEqual([3, 2]);
  });

  it('keeps the times of an earlier boot whose clock was plausible', async () => {
    await agent.stop();
    clock.reboot(Date.now() - 5 * HOUR);
    await agent.start();
    await record(0);
    await agent.stop();
    clock.reboot(Date.now());
    await agent.start();
    proxy.restore();

    const samples = await delivered(1);

    expect(ages(samples)).toEqual([5]);
    expect(samples[0]?.metrics.svc_agent_clock).toBeUndefined();
  });

  it('repeats the same times after a restart', async () => {
    await record(0);
    proxy.handle(async ({ path, forward, pass, response }) => {
      if (path !== '/api/v1/telemetry') return pass();
      await forward();
      response.destroy();
    });
    await waitFor('a lost answer', () => proxy.seenAt('/api/v1/telemetry').length > 0, 60_000);
    await agent.stop();
    await agent.start();
    proxy.restore();
    await waitFor(
      'the delivery',
      async () => (await agent.status()).queues.samples.count === 0,
      60_000,
    );

    const bodies = new Set(proxy.seenAt('/api/v1/telemetry').map(({ body }) => body));
    expect(bodies.size).toBe(1);
    expect(await delivered(1)).toHaveLength(1);
  });

  it('reports how far its clock is off', async () => {
    proxy.restore();
    const ahead = await waitFor(
      'the clock of the service',
      async () => (await agent.status()).clock.ahead_of_service_ms,
    );

    expect(ahead).toBeLessThan(-365 * 24 * HOUR);
  });
});
