import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import type { Resolution } from '../../src/protocol/telemetry.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { SampleRecord, TimeRange } from '../../src/server/ports/telemetry.ts';
import { isMeanOf } from '../support/exact-mean.ts';
import { newWallet, type OpenStore, sha256Hex, World } from './world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const always: TimeRange = { from: 0, to: Number.MAX_SAFE_INTEGER };

export function telemetryContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot();
  });
  afterEach(() => world.close());

  const sample = (changes: Partial<SampleRecord> = {}): SampleRecord => ({
    id: uuid(),
    recordedAt: world.now,
    batteryPct: null,
    state: null,
    metrics: '{}',
    ...changes,
  });
  const record = (samples: SampleRecord[], from = robot) =>
    world.store.recordSamples({
      robotId: from.id,
      keyHash: from.keyHash,
      samples,
      now: world.now,
    });
  const ofRobot = () => ({ wallet: robot.wallet, robotId: robot.id });
  const stored = () => world.store.listSamples(ofRobot(), always, { limit: 1000, before: null });
  const rollups = (resolution: Resolution, range = always, limit = 1000) =>
    world.store.listRollups(ofRobot(), resolution, range, limit);
  const shown = async () => (await world.store.getRobot(robot.id, robot.wallet)) ?? undefined;

  describe('recording', () => {
    it('stores samples unchanged, newest first', async () => {
      const older = sample({
        recordedAt: world.now - 5,
        batteryPct: 12.5,
        state: 'busy',
        metrics: '{"t":21.5}',
      });
      const newer = sample();

      expect(await record([newer, older])).toEqual({ outcome: 'recorded' });

      expect(await stored()).toEqual([newer, older]);
    });

    it('ignores a repeated sample and does not count it', async () => {
      const first = sample({ batteryPct: 50, metrics: '{"t":1}' });
      await record([first]);
      const before = [await rollups('hour'), await rollups('day')];

      expect(await record([first, first])).toEqual({ outcome: 'recorded' });

      expect(await stored()).toEqual([first]);
      expect([await rollups('hour'), await rollups('day')]).toEqual(before);
    });

    it.each([{ batteryPct: 51 }, { batteryPct: null }, { state: 'idle' }, { metrics: '{"t":2}' }])(
      'answers id_conflict for %j under the same id and time, nothing stored',
      async (change) => {
        const first = sample({ batteryPct: 50, metrics: '{"t":1}' });
        await record([first]);
        const before = await rollups('hour');

        const result = await record([sample(), { ...first, ...change }, sample()]);

        expect(result).toEqual({ outcome: 'id_conflict', index: 1 });
        expect(await stored()).toEqual([first]);
        expect(await rollups('hour')).toEqual(before);
      },
    );

    it('distinguishes samples by time and by robot', async () => {
      const id = uuid();
      const other = await world.robot(robot.wallet);

      await record([sample({ id }), sample({ id, recordedAt: world.now - 1, state: 'idle' })]);
      const result = await record([sample({ id, state: 'busy' })], other);

      expect(result).toEqual({ outcome: 'recorded' });
      expect(await stored()).toHaveLength(2);
    });

    it('ignores a repeated sample also if its id has another time too', async () => {
      const id = uuid();
      const older = sample({ id, recordedAt: world.now - 1, state: 'idle' });
      const newer = sample({ id, state: 'busy' });
      await record([older, newer]);

      const repeated = [await record([newer]), await record([older])];

      expect(repeated).toEqual([{ outcome: 'recorded' }, { outcome: 'recorded' }]);
    });

    it('answers key_revoked for a revoked key', async () => {
      const result = await world.store.recordSamples({
        robotId: robot.id,
        keyHash: sha256Hex('an older key'),
        samples: [sample()],
        now: world.now,
      });

      expect(result).toEqual({ outcome: 'key_revoked' });
      expect(await stored()).toEqual([]);
    });

    it('stores one of 20 concurrent repeats', async () => {
      const same = sample({ batteryPct: 50 });

      await Promise.all(Array.from({ length: 20 }, () => record([same])));

      expect((await rollups('hour'))?.[0]?.summary.samples).toBe(1);
    });
  });

  describe('the current state of a robot', () => {
    it('has the newest battery and the newest state, whenever they arrive', async () => {
      await record([sample({ recordedAt: world.now - 10, batteryPct: 40, state: 'busy' })]);
      await record([sample({ recordedAt: world.now - 20, batteryPct: 60, state: 'idle' })]);

      expect(await shown()).toMatchObject({ batteryPct: 40, state: 'busy' });
    });

    it('does not change if the newest sample has no reading', async () => {
      await record([sample({ recordedAt: world.now - 10, batteryPct: 40, state: 'busy' })]);
      await record([sample({ state: 'charging' })]);

      expect(await shown()).toMatchObject({ batteryPct: 40, state: 'charging' });
    });

    it('is the later arrival for equal times', async () => {
      const recordedAt = world.now;
      await record([sample({ recordedAt, state: 'busy' }), sample({ recordedAt, state: 'idle' })]);
      expect(await shown()).toMatchObject({ state: 'idle' });

      await record([sample({ recordedAt, state: 'error' })]);
      expect(await shown()).toMatchObject({ state: 'error' });
    });

    describe('has its start time', () => {
      type Given = [minute: number, batteryPct: number | null, state: string | null];
      type Since = { batteryLowSince: number | null; stateSince: number | null };
      const minutes = (minute: number) => world.now - HOUR + minute * 60_000;
      const at = ({ batteryLowSince, stateSince }: Since) => ({
        batteryLowSince: batteryLowSince === null ? null : minutes(batteryLowSince),
        stateSince: stateSince === null ? null : minutes(stateSince),
      });

      it.each<[string, Given[][], Since]>([
        [
          'from the first sample on',
          [[[1, 10, 'error']], [[2, 9, 'error']], [[3, 8, 'error']]],
          { batteryLowSince: 1, stateSince: 1 },
        ],
        [
          'from the first sample of a request on',
          [
            [[1, 90, 'idle']],
            [
              [2, 90, 'idle'],
              [3, 19, 'error'],
              [4, 18, 'error'],
            ],
          ],
          { batteryLowSince: 3, stateSince: 3 },
        ],
        [
          'again after a break, also inside one request',
          [
            [[1, 10, 'error']],
            [
              [2, 30, 'idle'],
              [3, 10, 'error'],
            ],
          ],
          { batteryLowSince: 3, stateSince: 3 },
        ],
        [
          'through samples without a reading',
          [[[1, 10, 'error']], [[2, null, null]], [[3, 10, 'error']]],
          { batteryLowSince: 1, stateSince: 1 },
        ],
        [
          'also if samples arrive again',
          [[[1, 10, 'error']], [[3, 10, 'error']], [[1, 10, 'error']]],
          { batteryLowSince: 1, stateSince: 1 },
        ],
        [
          'whatever the order in a request',
          [
            [
              [5, 10, 'error'],
              [3, 90, 'idle'],
              [4, 10, 'error'],
            ],
          ],
          { batteryLowSince: 4, stateSince: 4 },
        ],
        [
          'if a request has samples from before and after the stored ones',
          [
            [[3, 90, 'idle']],
            [
              [1, 10, 'error'],
              [5, 10, 'error'],
            ],
          ],
          { batteryLowSince: 5, stateSince: 5 },
        ],
        [
          'not moved by a late sample from before it',
          [
            [[3, 10, 'error']],
            [
              [1, 90, 'idle'],
              [2, 10, 'error'],
              [5, 10, 'error'],
            ],
          ],
          { batteryLowSince: 3, stateSince: 3 },
        ],
        [
          'moved on by late samples that differ',
          [
            [[1, 10, 'error']],
            [[9, 10, 'error']],
            [
              [2, 90, 'idle'],
              [4, 10, 'error'],
            ],
          ],
          { batteryLowSince: 4, stateSince: 4 },
        ],
        [
          'moved to the newest sample if all late ones differ',
          [[[1, 10, 'error']], [[9, 10, 'error']], [[2, 90, 'idle']]],
          { batteryLowSince: 9, stateSince: 9 },
        ],
        [
          'of a battery only while it is below 20 %',
          [[[1, 10, 'error']], [[2, 20, 'error']]],
          { batteryLowSince: null, stateSince: 1 },
        ],
      ])('%s', async (_, requests, since) => {
        for (const samples of requests) {
          await record(
            samples.map(([minute, batteryPct, state]) =>
              sample({ recordedAt: minutes(minute), batteryPct, state }),
            ),
          );
        }

        expect(await shown()).toMatchObject(at(since));
      });
    });

    it('follows a clock that was ahead and is corrected', async () => {
      await record([sample({ recordedAt: world.now + 20 * HOUR, batteryPct: 90 })]);
      world.clock.advance(1000);

      await record([sample({ batteryPct: 80 })]);

      expect(await shown()).toMatchObject({ batteryPct: 80 });
    });

    it('is not changed by a repeated sample', async () => {
      const first = sample({ state: 'busy' });
      await record([first]);
      await record([sample({ recordedAt: world.now, state: 'idle' })]);

      await record([first]);

      expect(await shown()).toMatchObject({ state: 'idle' });
    });

    it('was last seen at its last accepted write', async () => {
      await record([sample({ recordedAt: world.now - DAY })]);
      expect((await shown())?.lastSeenAt).toBe(world.now);

      world.clock.advance(1000);
      await world.task(robot.id);
      expect((await shown())?.lastSeenAt).toBe(world.now);

      await world.lease();
      const task = await world.task(robot.id);
      world.clock.advance(1000);
      await world.store.queueCompletion(world.completion(task));
      expect((await shown())?.lastSeenAt).toBe(world.now);

      const seenAt = world.now;
      await world.store.recordSamples({
        robotId: robot.id,
        keyHash: robot.keyHash,
        samples: [],
        now: seenAt - 5000,
      });
      expect((await shown())?.lastSeenAt).toBe(seenAt);
    });
  });

  describe('reading samples', () => {
    it('pages through equal times without loss or repetition', async () => {
      const samples = Array.from({ length: 25 }, (_, i) =>
        sample({ recordedAt: world.now - Math.floor(i / 10) }),
      );
      await record(samples);

      const read: SampleRecord[] = [];
      for (;;) {
        const page = await world.store.listSamples(ofRobot(), always, {
          limit: 4,
          before: read.at(-1) ?? null,
        });
        if (!page || page.length === 0) break;
        read.push(...page);
      }

      expect(read).toEqual(await stored());
      expect(new Set(read.map(({ id }) => id)).size).toBe(25);
    });

    it('includes the start of a range and excludes its end', async () => {
      const [a, b, c] = [0, 1, 2].map((i) => sample({ recordedAt: world.now - 10 + i }));
      if (!a || !b || !c) throw new Error('Three samples');
      await record([a, b, c]);

      const page = { limit: 10, before: null };
      const range = { from: a.recordedAt, to: c.recordedAt };

      expect(await world.store.listSamples(ofRobot(), range, page)).toEqual([b, a]);
    });

    it('shows a robot to its own account only', async () => {
      const foreign = { ...ofRobot(), wallet: newWallet() };

      expect(await world.store.listSamples(foreign, always, { limit: 1, before: null })).toBeNull();
      expect(await world.store.listRollups(foreign, 'hour', always, 1)).toBeNull();
    });
  });

  describe('roll-ups', () => {
    it('summarize the samples of each hour and day', async () => {
      const noon = world.now;
      await record([
        sample({ recordedAt: noon, batteryPct: 40, state: 'busy', metrics: '{"t":10,"x":"a"}' }),
        sample({ recordedAt: noon + 1, batteryPct: 60, state: 'idle', metrics: '{"t":20}' }),
      ]);
      await record([sample({ recordedAt: noon + 2, state: 'busy' })]);
      await record([sample({ recordedAt: noon + HOUR, batteryPct: 10 })]);

      const hours = await rollups('hour');
      expect(hours).toEqual([
        {
          at: noon,
          summary: {
            samples: 3,
            battery: [2, 40, 60, 100],
            states: new Map([
              ['busy', 2],
              ['idle', 1],
            ]),
            metrics: new Map([['t', [2, 10, 20, 30]]]),
          },
        },
        { at: noon + HOUR, summary: expect.objectContaining({ samples: 1 }) },
      ]);
      const [day] = (await rollups('day')) ?? [];
      expect(day).toMatchObject({
        at: noon - 12 * HOUR,
        summary: { samples: 4, battery: [3, 10, 60, 110] },
      });
    });

    it('include the start of a range and exclude its end', async () => {
      const noon = world.now;
      await record([0, 1, 2].map((i) => sample({ recordedAt: noon + i * HOUR })));

      const found = await rollups('hour', { from: noon, to: noon + 2 * HOUR });

      expect(found?.map(({ at }) => at)).toEqual([noon, noon + HOUR]);
    });

    it('are read a page at a time', async () => {
      const noon = world.now;
      await record([0, 1, 2].map((i) => sample({ recordedAt: noon + i * HOUR })));

      expect((await rollups('hour', always, 2))?.map(({ at }) => at)).toEqual([noon, noon + HOUR]);
    });

    it('are kept by minute too', async () => {
      await record([0, 59_999, 60_000].map((ms) => sample({ recordedAt: world.now + ms })));

      const minutes = await rollups('minute');

      expect(minutes?.map(({ at, summary }) => [at - world.now, summary.samples])).toEqual([
        [0, 2],
        [60_000, 1],
      ]);
    });

    it('count apart in a minute, an hour and a day that begin together', async () => {
      const midnight = world.now - 12 * HOUR;
      await record([sample({ recordedAt: midnight + 2 * HOUR })]);
      await record([sample({ recordedAt: midnight })]);

      const first = async (resolution: Resolution) => (await rollups(resolution))?.[0];
      const counts = [await first('minute'), await first('hour'), await first('day')];

      expect(counts.map((one) => [one?.at, one?.summary.samples])).toEqual([
        [midnight, 1],
        [midnight, 1],
        [midnight, 2],
      ]);
    });

    it('cover intervals before 1970 as well', async () => {
      await record([sample({ recordedAt: -1, batteryPct: 5 })]);

      const before1970 = { from: -DAY, to: 0 };
      expect(await rollups('minute', before1970)).toMatchObject([{ at: -60_000 }]);
      expect(await rollups('day', before1970)).toMatchObject([{ at: -DAY }]);
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('omit metrics whose names have more than 64 code points', async () => {
      const longest = '🤖'.repeat(64);

      await record([sample({ metrics: canonicalJson({ [longest]: 1, [`${longest}🤖`]: 2 }) })]);

      const [hour] = (await rollups('hour')) ?? [];
      expect([...(hour?.summary.metrics.keys() ?? [])]).toEqual([longest]);
    });

    it('contain the states and metrics that came first in their interval', async () => {
      const metrics = (from: number) =>
        canonicalJson(
          Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`m${from + i}`, i])),
        );
      const later = sample({ recordedAt: world.now + HOUR, metrics: metrics(30) });
      await record([sample({ metrics: metrics(0) })]);

      await record([later, { ...later, id: uuid() }]);

      const counts = async (resolution: Resolution) =>
        (await rollups(resolution))?.map(({ summary }) =>
          [...summary.metrics.values()].map(([count]) => count),
        );
      expect(await counts('hour')).toEqual([Array(40).fill(1), Array(40).fill(2)]);
      // Of the 40 later names, 10 are known already, and there is room for 24 of the others.
      const day = (await counts('day'))?.flat().sort();
      expect(day).toEqual([...Array(30).fill(1), ...Array(24).fill(2), ...Array(10).fill(3)]);
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('have the mean within its error, whatever the order and grouping of the samples', async () => {
      const reading = fc.double({ noNaN: true, min: -1e300, max: 1e300 });
      const batches = fc.array(fc.array(reading, { minLength: 1, maxLength: 6 }), {
        minLength: 1,
        maxLength: 6,
      });
      await fc.assert(
        fc.asyncProperty(batches, async (sent) => {
          robot = await world.robot();
          for (const batch of sent) {
            await record(batch.map((t) => sample({ metrics: canonicalJson({ t }) })));
          }

          for (const resolution of ['minute', 'hour', 'day'] as const) {
            const [rollup] = (await rollups(resolution)) ?? [];
            const [count, , , sum] = rollup?.summary.metrics.get('t') ?? [0, 0, 0, 0];
            expect(isMeanOf(sent.flat(), sum / count)).toBe(true);
          }
        }),
        { numRuns: 30 },
      );
      expect(await world.store.checkInvariants()).toEqual([]);
    });

    it('accept any name, even __proto__ and constructor', async () => {
      await record([
        sample({ state: '__proto__', metrics: '{"constructor":1}' }),
        sample({ state: '', metrics: '{"":2}' }),
      ]);

      const [hour] = (await rollups('hour')) ?? [];

      expect(Object.fromEntries(hour?.summary.states ?? [])).toEqual(
        Object.fromEntries([
          ['__proto__', 1],
          ['', 1],
        ]),
      );
      expect([...(hour?.summary.metrics.keys() ?? [])].sort()).toEqual(['', 'constructor']);
    });

    it('hold a bounded number of states and metrics, and count every sample', async () => {
      const metrics = canonicalJson(
        Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, i])),
      );
      await record(Array.from({ length: 40 }, (_, i) => sample({ state: `s${i}`, metrics })));

      const [hour] = (await rollups('hour')) ?? [];

      expect(hour?.summary.samples).toBe(40);
      expect(hour?.summary.states.size).toBe(32);
      expect(hour?.summary.metrics.size).toBe(64);
    });

    it('agree with the samples, however they arrive', async () => {
      const anyReading = fc.record({
        offset: fc.integer({ min: -3 * HOUR, max: 3 * HOUR }),
        batteryPct: fc.option(fc.double({ min: 0, max: 100, noNaN: true })),
        state: fc.option(fc.constantFrom('idle', 'busy', 'error')),
        t: fc.double({ noNaN: true, noDefaultInfinity: true }),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(anyReading, { maxLength: 10 }), { maxLength: 8 }),
          async (batches) => {
            robot = await world.robot();
            for (const batch of batches) {
              await record(
                batch.map(({ offset, t, ...reading }) =>
                  sample({
                    ...reading,
                    recordedAt: world.now + offset,
                    metrics: canonicalJson({ t }),
                  }),
                ),
              );
            }

            const samples = (await stored()) ?? [];
            const hours = (await rollups('hour')) ?? [];

            expect(hours.map(({ summary }) => summary.samples)).toEqual(
              countsBy(samples, ({ recordedAt }) => Math.floor(recordedAt / HOUR)),
            );
            for (const { at, summary } of hours) {
              const inHour = samples.filter(
                ({ recordedAt }) => recordedAt >= at && recordedAt < at + HOUR,
              );
              const levels = inHour.flatMap(({ batteryPct }) => batteryPct ?? []);
              const busy = inHour.filter(({ state }) => state === 'busy').length;
              expect(summary.states.get('busy') ?? 0).toBe(busy);
              const [count = 0, min, max, sum = 0] = summary.battery ?? [];
              expect(count).toBe(levels.length);
              if (summary.battery === null) continue;
              expect([min, max]).toEqual([Math.min(...levels), Math.max(...levels)]);
              expect(isMeanOf(levels, sum / count)).toBe(true);
            }
          },
        ),
        { numRuns: 30 },
      );
    });
  });
}

/** How many there are of each key, in the order of the keys. */
function countsBy<Item>(items: Item[], keyOf: (item: Item) => number): number[] {
  const counts = new Map<number, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a - b).map(([, count]) => count);
}
