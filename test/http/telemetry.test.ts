import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { routes } from '../../src/protocol/routes.ts';
import { hashToken } from '../../src/server/core/sessions.ts';
import { createTestClock } from '../support/clock.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Send } from '../support/wire.ts';

const KEPT_DAYS = 30;
const DAY = 24 * 3_600_000;

describe('telemetry', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({
      clock,
      settings: { telemetryRetentionMs: KEPT_DAYS * DAY },
    });
    owner = await service.signIn();
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    clock.advance(60_000);
    robot = await service.makeRobot(owner);
  });

  const post = (sent: Send) =>
    service.call('POST', '/api/v1/telemetry', { apiKey: robot.apiKey, ...sent });
  const read = (query = '', session = owner.session) =>
    service.call('GET', `/api/v1/robots/${robot.id}/telemetry${query}`, { session });
  const at = (offsetMs: number) => new Date(clock.now() + offsetMs).toISOString();

  describe('recording', () => {
    it('accepts the body that its documentation shows', async () => {
      const reply = await post({ body: routes.recordSamples.example });

      expect(reply.status).toBe(201);
    });

    it('accepts one sample at top level', async () => {
      const reply = await post({
        body: {
          battery_pct: 81.5,
          state: 'busy',
          metrics: { temp_c: 41, joints: [1, 2] },
          recorded_at: '2026-01-15T13:00:00.5+02:00',
        },
      });

      expect(reply.status).toBe(201);
      expect(reply.body).toEqual({
        accepted: 1,
        samples: [
          {
            id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
            recorded_at: '2026-01-15T11:00:00.500Z',
            battery_pct: 81.5,
            state: 'busy',
            metrics: { temp_c: 41, joints: [1, 2] },
          },
        ],
      });
      expect((await read()).body).toEqual({ items: reply.body.samples, next_cursor: null });
    });

    it('accepts 50 samples, in the order sent', async () => {
      const samples = Array.from({ length: 50 }, (_, i) => ({ battery_pct: i * 2 }));

      const reply = await post({ body: { samples } });

      expect(reply.body.accepted).toBe(50);
      expect(
        reply.body.samples.map(({ battery_pct }: { battery_pct: number }) => battery_pct),
      ).toEqual(samples.map(({ battery_pct }) => battery_pct));
    });

    it('accepts a sample without readings as a sign of life', async () => {
      const reply = await post({ body: {} });

      expect(reply.body.samples[0]).toMatchObject({
        recorded_at: at(0),
        battery_pct: null,
        state: null,
        metrics: {},
      });
    });

    it('shows the newest battery, state and time on the robot', async () => {
      await post({ body: { battery_pct: 19.9, state: 'busy', recorded_at: at(-1000) } });
      await post({ body: { battery_pct: null, state: 'charging' } });

      const reply = await service.call('GET', `/api/v1/robots/${robot.id}`, {
        session: owner.session,
      });

      expect(reply.body.robot).toMatchObject({
        battery_pct: 19.9,
        battery_low_since: at(-1000),
        state: 'charging',
        state_since: at(0),
        state_at: at(0),
        last_seen_at: at(0),
      });
    });

    it('shows how far the clock of the robot is behind, but not the age of a backlog', async () => {
      const shown = async () => {
        const path = `/api/v1/robots/${robot.id}`;
        const { body } = await service.call('GET', path, { session: owner.session });
        return body.robot.clock_behind_s;
      };
      for (const minutes of [120, 90, 60]) {
        await post({ body: { state: 'busy', recorded_at: at(-minutes * 60_000) } });
        expect(await shown()).toBeNull();
      }

      clock.advance(10_000);
      await post({ body: { state: 'idle', recorded_at: at(-3_601_000) } });
      expect(await shown()).toBe(3601);
      await post({ body: { state: 'busy' } });
      expect(await shown()).toBeNull();
    });

    it.each<[string, string]>([
      ['a level above 100', '{"battery_pct":100.1}'],
      ['a level below 0', '{"battery_pct":-0.1}'],
      ['a level that is text', '{"battery_pct":"80"}'],
      ['a state of 65 characters', `{"state":"${'x'.repeat(65)}"}`],
      ['U+0000 in the state', '{"state":"a\\u0000"}'],
      ['a state that is a number', '{"state":1}'],
      ['metrics that are an array', '{"metrics":[]}'],
      ['a metric beyond the range of a double', '{"metrics":{"t":1e400}}'],
      ['a day that does not exist', '{"recorded_at":"2026-02-30"}'],
      ['a time before all years', '{"recorded_at":"0000-01-01T00:00+02:00"}'],
      ['an id that is no UUID', '{"id":"7","recorded_at":"2026-01-15"}'],
      ['an id without a time', `{"id":"${randomUUID()}"}`],
      ['no samples', '{"samples":[]}'],
      ['a sample that is a number', '{"samples":[7]}'],
      ['both forms', '{"state":"idle","samples":[{}]}'],
    ])('is invalid_sample with %s', async (_, raw) => {
      const reply = await post({ raw });

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_sample');
      expect((await read()).body.items).toEqual([]);
    });

    it.each<[string, string]>([
      ['at top level', '{"battery":50}'],
      ['in a sample', '{"samples":[{},{"battery":50}]}'],
      ['twice', '{"state":"a","volts":1}'],
    ])('is invalid_sample with an unknown field %s', async (_, raw) => {
      const reply = await post({ raw });

      expect(reply.status).toBe(400);
      expect(reply.body.error).toBe('invalid_sample');
    });

    it.each([
      [[{}, { battery_pct: 101 }], 'samples.1.battery_pct must be at most 100'],
      [[{}, {}, { id: randomUUID() }], 'samples.2.recorded_at is required if id is given'],
      [[{ state: 'x'.repeat(65) }], 'samples.0.state must have at most 64 characters'],
    ])('refuses a batch whole and names the bad sample (%#)', async (samples, message) => {
      const reply = await post({ body: { samples } });

      expect(reply.body.error).toBe('invalid_sample');
      expect(reply.body.message).toContain(message);
      expect((await read()).body.items).toEqual([]);
    });

    it('accepts a state of 64 code points', async () => {
      expect((await post({ body: { state: '🤖'.repeat(64) } })).status).toBe(201);
    });

    it('refuses 51 samples before it checks them', async () => {
      const reply = await post({ body: { samples: Array(51).fill({ battery_pct: 'full' }) } });

      expect(reply.status).toBe(413);
      expect(reply.body.error).toBe('batch_too_large');
      expect(reply.body.message).toBe('samples must have at most 50 items.');
    });

    it('accepts at most 16 KiB of metrics, measured in canonical form', async () => {
      const text = 'x'.repeat(16 * 1024 - '{"text":""}'.length);

      const exact = await post({ body: { samples: [{ metrics: { text } }] } });
      const tooLarge = await post({ body: { samples: [{}, { metrics: { text: `${text}x` } }] } });

      expect(exact.status).toBe(201);
      expect(tooLarge.status).toBe(400);
      expect(tooLarge.body.error).toBe('invalid_sample');
      expect(tooLarge.body.message).toContain('samples.1.metrics');
    });

    it('accepts a sample with the most values allowed, and 50 with objects for metrics', async () => {
      const joints = Array((16 * 1024 - '{"j":[]}'.length) / 2).fill(0);
      const reading = { min: 1, avg: 2, max: 3, unit: '°C', ok: true };
      const metrics = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`m${i}`, reading]));
      const sample = () => ({
        id: randomUUID(),
        recorded_at: at(0),
        battery_pct: 50,
        state: 'busy',
        metrics,
      });

      const single = await post({ body: { metrics: { j: joints } } });
      const many = await post({ body: { samples: Array.from({ length: 50 }, sample) } });

      expect([single.status, many.status]).toEqual([201, 201]);
    });

    it('refuses a body with more values than 50 samples need', async () => {
      const numbers = '0,'.repeat(limits.samplesValues);

      const reply = await post({ raw: `{"samples":[{"metrics":{"j":[${numbers}0]}}]}` });

      expect([reply.status, reply.body.error]).toEqual([413, 'payload_too_large']);
      expect(reply.body.message).toBe(
        `The body must have at most ${limits.samplesValues} JSON values.`,
      );
    });

    it('accepts a clock up to 24 hours ahead', async () => {
      expect((await post({ body: { recorded_at: at(DAY) } })).status).toBe(201);

      const reply = await post({ body: { recorded_at: at(DAY + 1) } });
      expect(reply.body.error).toBe('invalid_sample');
    });

    it('acknowledges samples older than the retention and does not store them', async () => {
      const old = { recorded_at: at(-KEPT_DAYS * DAY - 1), battery_pct: 10 };
      const kept = { recorded_at: at(-KEPT_DAYS * DAY), battery_pct: 20 };

      const reply = await post({ body: { samples: [old, kept] } });

      expect(reply.status).toBe(201);
      expect(reply.body.accepted).toBe(2);
      expect(reply.body.samples[0]).toMatchObject(old);
      expect((await read()).body.items).toEqual([reply.body.samples[1]]);
    });
  });

  describe("with the caller's id", () => {
    it('returns the same answer if repeated, and counts the sample once', async () => {
      const id = randomUUID();
      const recorded_at = at(-1000);
      const first = await post({ body: { id, recorded_at, metrics: { a: 1, b: 2 } } });

      const again = await post({
        raw: `{"metrics":{"b":2.0,"a":1},"recorded_at":"${recorded_at.replace('Z', '+00:00')}","id":"${id}"}`,
      });

      expect(again.status).toBe(201);
      expect(again.body).toEqual(first.body);
      expect((await read()).body.items).toHaveLength(1);
      expect((await read('?resolution=hour')).body.points).toMatchObject([{ samples: 1 }]);
    });

    it('conflicts with other content, the batch refused whole', async () => {
      const id = randomUUID();
      const recorded_at = at(-1000);
      await post({ body: { id, recorded_at, battery_pct: 50 } });

      const reply = await post({
        body: { samples: [{ state: 'idle' }, { id, recorded_at, battery_pct: 51 }] },
      });

      expect(reply.status).toBe(409);
      expect(reply.body.error).toBe('id_conflict');
      expect(reply.body.message).toContain('samples.1.id');
      expect((await read()).body.items).toMatchObject([{ battery_pct: 50 }]);
    });

    it('conflicts within one batch', async () => {
      const sample = { id: randomUUID(), recorded_at: at(0) };

      const reply = await post({ body: { samples: [sample, { ...sample, state: 'idle' }] } });

      expect(reply.body.error).toBe('id_conflict');
    });

    it('is independent of the same id of another robot', async () => {
      const body = { id: randomUUID(), recorded_at: at(0), state: 'idle' };
      await post({ body });
      const other = await service.makeRobot(await service.signIn());

      const reply = await post({ body: { ...body, state: 'busy' }, apiKey: other.apiKey });

      expect(reply.status).toBe(201);
    });
  });

  describe('reading samples', () => {
    it('pages newest first', async () => {
      const samples = Array.from({ length: 7 }, (_, i) => ({
        recorded_at: at(-1000 * (i >> 1)),
        battery_pct: i,
      }));
      await post({ body: { samples } });

      const levels: number[] = [];
      let query = '?limit=3';
      for (;;) {
        const { body } = await read(query);
        levels.push(...body.items.map((item: { battery_pct: number }) => item.battery_pct));
        if (body.next_cursor === null) break;
        query = `?limit=3&cursor=${body.next_cursor}`;
      }

      expect(levels.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      expect(levels.slice(-1)).toEqual([6]);
    });

    it('includes the start of a range and excludes its end', async () => {
      await post({
        body: { samples: [-3, -2, -1].map((s) => ({ recorded_at: at(s * 1000) })) },
      });

      const { body } = await read(`?from=${at(-3000)}&to=${at(-1000)}`);

      expect(body.items.map((item: { recorded_at: string }) => item.recorded_at)).toEqual([
        at(-2000),
        at(-3000),
      ]);
    });

    it('shows a robot to its own account only', async () => {
      const stranger = await service.signIn();

      for (const query of ['', '?resolution=minute', '?resolution=hour']) {
        const reply = await read(query, stranger.session);
        expect([reply.status, reply.body.error]).toEqual([404, 'not_found']);
      }
    });

    it.each([
      '?resolution=week',
      '?from=yesterday',
      '?cursor=7',
      '?limit=0',
      '?limit=201',
      '?x=1',
      '?from=2026-01-02&to=2026-01-02',
      '?from=2026-01-02&to=2026-01-01&resolution=hour',
      '?resolution=minute&limit=5',
      '?resolution=minute&from=2026-01-02T00:00:00Z&to=2026-01-02T06:00:01Z',
      '?resolution=hour&from=2026-01-01&to=2026-02-02',
      '?resolution=day&from=2025-01-01&to=2026-01-03',
    ])('refuses %s', async (query) => {
      const reply = await read(query);

      expect([reply.status, reply.body.error]).toEqual([400, 'invalid_request']);
    });
  });

  describe('a series', () => {
    const noon = Date.UTC(2026, 0, 10, 12);
    const time = (offsetMs: number) => new Date(noon + offsetMs).toISOString();
    beforeEach(async () => {
      const samples = [
        { recorded_at: time(0), battery_pct: 80, state: 'busy', metrics: { t: 20, name: 'x' } },
        { recorded_at: time(30_000), battery_pct: 60, state: 'busy', metrics: { t: 40 } },
        { recorded_at: time(60_000), state: '__proto__' },
        { recorded_at: time(2 * 3_600_000), battery_pct: 50, state: 'idle' },
      ];
      await post({ body: { samples } });
    });

    it.each<[string, [number, number][]]>([
      [
        'minute',
        [
          [0, 2],
          [60_000, 1],
        ],
      ],
      [
        'hour',
        [
          [0, 3],
          [2 * 3_600_000, 1],
        ],
      ],
      ['day', [[-12 * 3_600_000, 4]]],
    ])('by %s counts the samples of each interval', async (resolution, expected) => {
      const to = resolution === 'minute' ? 3_600_000 : 4 * 3_600_000;

      const reply = await read(`?resolution=${resolution}&from=${time(0)}&to=${time(to)}`);

      expect(reply.status).toBe(200);
      expect(reply.body.resolution).toBe(resolution);
      expect(
        reply.body.points.map((point: { at: string; samples: number }) => [
          Date.parse(point.at) - noon,
          point.samples,
        ]),
      ).toEqual(expected);
    });

    it.each(['minute', 'hour'])('by %s summarizes the samples', async (resolution) => {
      const reply = await read(`?resolution=${resolution}&from=${time(0)}&to=${time(59_000)}`);

      const [point] = reply.body.points;
      expect(point).toMatchObject({
        at: time(0),
        battery_pct: { min: 60, avg: 70, max: 80 },
        metrics: { t: { min: 20, avg: 30, max: 40 } },
      });
      expect(point.states.busy).toBe(2);
      expect(Object.keys(point.metrics)).toEqual(['t']);
    });

    it('counts a state of any name', async () => {
      const reply = await read(`?resolution=hour&from=${time(0)}&to=${time(1)}`);

      expect(Object.entries(reply.body.points[0].states)).toContainEqual(['__proto__', 1]);
    });

    it('spans whole intervals around its range', async () => {
      const reply = await read(`?resolution=hour&from=${time(1)}&to=${time(3_600_001)}`);

      expect(reply.body).toMatchObject({ from: time(0), to: time(2 * 3_600_000) });
      expect(reply.body.points).toHaveLength(1);
    });

    it.each([
      ['to=9999-12-31T23:59:59.999Z', { to: '9999-12-31T23:59:59.999Z' }],
      ['to=0000-01-01T00:00:01Z', { from: '0000-01-01T00:00:00.000Z' }],
    ])('spans the intervals of %s as far as a timestamp reaches', async (query, end) => {
      const reply = await read(`?resolution=day&${query}`);

      expect([reply.status, reply.body]).toEqual([200, expect.objectContaining(end)]);
    });

    it('has the newest hour, day or month if no range is given', async () => {
      await post({ body: { battery_pct: 5 } });

      for (const [resolution, hours] of Object.entries({ minute: 1, hour: 24, day: 744 })) {
        const { body } = await read(`?resolution=${resolution}`);
        const span = Date.parse(body.to) - Date.parse(body.from);
        expect(span).toBeGreaterThanOrEqual(hours * 3_600_000);
        expect(body.points.at(-1).battery_pct).toEqual({ min: 5, avg: 5, max: 5 });
      }
    });

    it.each([0.1, Number.MAX_VALUE, -Number.MAX_VALUE])(
      'has the average of equal numbers, %d',
      async (t) => {
        const samples = Array.from({ length: 10 }, () => ({
          recorded_at: time(-DAY),
          metrics: { t },
        }));
        await post({ body: { samples } });

        const { body } = await read(`?resolution=hour&from=${time(-DAY)}&to=${time(-DAY + 1)}`);

        expect(body.points[0].metrics.t).toEqual({ min: t, avg: t, max: t });
      },
    );

    it('by minute has no limit on samples', async () => {
      const keyHash = hashToken(robot.apiKey);
      for (let i = 0; i < 11; i += 1) {
        const samples = Array.from({ length: 1000 }, (_, j) => ({
          id: randomUUID(),
          recordedAt: noon - DAY + ((i * 1000 + j) % 60_000),
          batteryPct: null,
          state: null,
          metrics: '{}',
        }));
        await service.store.recordSamples({ robotId: robot.id, keyHash, samples, now: noon });
      }

      const range = `from=${time(-DAY)}&to=${time(-DAY + 3_600_000)}`;
      const reply = await read(`?resolution=minute&${range}`);

      expect(reply.body.points).toMatchObject([{ samples: 11_000 }]);
    });

    it('is sent completely if it is longer than one piece', async () => {
      const names = Array.from({ length: 64 }, (_, i) => `${i}`.padEnd(64, 'x'));
      const samples = Array.from({ length: 50 }, (_, i) => ({
        recorded_at: time(-DAY - i * 3_600_000),
        metrics: Object.fromEntries(names.map((name, j) => [name, i + j / 8])),
      }));
      await post({ body: { samples } });

      const { body } = await read(`?resolution=hour&from=${time(-4 * DAY)}&to=${time(-DAY + 1)}`);

      expect(body.points).toHaveLength(50);
      for (const [i, point] of body.points.toReversed().entries()) {
        expect(point.metrics[names[63] ?? '']).toEqual({
          min: i + 63 / 8,
          avg: i + 63 / 8,
          max: i + 63 / 8,
        });
      }
    });

    it('waits while another one of the account is read, and is refused if too many wait', async () => {
      const { store } = service;
      const listRollups = store.listRollups.bind(store);
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const reads = vi.spyOn(store, 'listRollups').mockImplementation(async (...query) => {
        await held;
        return listRollups(...query);
      });
      const stranger = await service.signIn();
      const strangersRobot = await service.makeRobot(stranger);

      const replies = Array.from({ length: 34 }, () => read('?resolution=day'));
      const refused = await Promise.race(replies);
      const other = service.call(
        'GET',
        `/api/v1/robots/${strangersRobot.id}/telemetry?resolution=day`,
        {
          session: stranger.session,
        },
      );
      await waitFor('the series of the other account', () => reads.mock.calls.length === 2);
      release();
      const statuses = (await Promise.all(replies)).map(({ status }) => status);
      reads.mockRestore();

      expect([refused.status, refused.body.error]).toEqual([503, 'overloaded']);
      expect(refused.headers.get('retry-after')).toBe('5');
      expect(statuses.sort()).toEqual([...Array(33).fill(200), 503]);
      expect((await other).status).toBe(200);
    });

    it('by minute reads more samples than one read returns', async () => {
      for (let i = 0; i < 41; i += 1) {
        const samples = Array.from({ length: 50 }, (_, j) => ({
          recorded_at: time(-DAY + (i * 50 + j) * 1000),
        }));
        await post({ body: { samples } });
      }

      const { body } = await read(
        `?resolution=minute&from=${time(-DAY)}&to=${time(-DAY + 3_600_000)}`,
      );

      const counts = body.points.map((point: { samples: number }) => point.samples);
      expect(counts).toEqual([...Array(34).fill(60), 10]);
    });
  });
});
