import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loneValues, metricOf, timelineOf, valuesOf } from '../../src/dashboard/charts/series.ts';
import type { Series, SeriesPoint } from '../../src/protocol/telemetry.ts';

const MINUTE_MS = 60_000;
const start = Date.parse('2026-11-21T10:00:00.000Z');

const at = (minute: number) => start + minute * MINUTE_MS;

/** One hour by minute, with samples in these minutes. */
function hourOf(minutes: number[], states: Record<string, number> = { busy: 1 }): Series {
  const points: SeriesPoint[] = minutes.map((minute) => ({
    at: new Date(at(minute)).toISOString(),
    samples: Math.max(
      1,
      Object.values(states).reduce((sum, count) => sum + count, 0),
    ),
    battery_pct: { min: minute, avg: minute, max: minute },
    states,
    metrics: {},
  }));
  return {
    resolution: 'minute',
    from: new Date(start).toISOString(),
    to: new Date(at(60)).toISOString(),
    points,
  };
}

const everyOther = Array.from({ length: 30 }, (_, i) => 2 * i);
const batteryOf = (minutes: number[]) =>
  valuesOf(timelineOf(hourOf(minutes), at(60)), ({ battery_pct }) => battery_pct?.avg);
const stretchesOf = (series: Series, now = at(60)) =>
  timelineOf(series, now).stretches.map(({ states, from, to }) => [
    states && Object.keys(states).join(),
    (from - start) / MINUTE_MS,
    (to - start) / MINUTE_MS,
  ]);

describe('the line of a robot that reports every other minute', () => {
  it('is one line without a gap', () => {
    expect(batteryOf(everyOther)).toEqual(everyOther);
  });

  it('joins readings up to 3 times the usual interval apart, and no others', () => {
    const missing = everyOther.filter((minute) => minute !== 10 && minute !== 12);
    expect(batteryOf(missing)).toEqual(missing);

    const longer = missing.filter((minute) => minute !== 14);
    expect(batteryOf(longer)).toEqual([0, 2, 4, 6, 8, null, ...longer.slice(5)]);
  });
});

describe('the line of one metric', () => {
  it('continues over one sample without a reading, and ends at many', () => {
    const line = timelineOf(hourOf([0, 1, 2, 3, 4, 5, 6, 7]), at(8));
    const readIn = (minutes: number[]) =>
      valuesOf(line, ({ battery_pct }) => (minutes.includes(battery_pct?.avg ?? -1) ? 1 : null));

    expect(readIn([0, 1, 3, 7])).toEqual([1, 1, undefined, 1, null, null, null, 1]);
    expect(loneValues(readIn([0, 1, 3, 7]))).toEqual([7]);
  });

  it('has no value where the metric is missing, also if it is named like a member of every object', () => {
    const [first, ...others] = hourOf([0, 1]).points;
    const spread = { min: 7, avg: 7, max: 7 };
    const points = [{ ...first, metrics: { constructor: spread } }, ...others] as SeriesPoint[];

    const line = timelineOf({ ...hourOf([]), points }, at(2));

    expect(valuesOf(line, (point) => metricOf(point, 'constructor'))).toEqual([spread, null]);
  });
});

describe('the states of a robot', () => {
  it('have no gap for samples without a state', () => {
    expect(stretchesOf(hourOf(everyOther, {}))).toEqual([['', 0, 60]]);
  });

  it('are all kept of an interval that has several, with their samples', () => {
    const [mixed, ...pure] = timelineOf(hourOf([0, 1, 2], { busy: 2, error: 1 }), at(3)).stretches;
    const joined = timelineOf(hourOf([0, 1, 2]), at(3)).stretches;

    expect([mixed?.states, pure]).toEqual([{ busy: 2, error: 1 }, expect.any(Array)]);
    expect(pure).toHaveLength(2);
    expect(joined.map(({ states }) => states)).toEqual([{ busy: 3 }]);
  });

  it.each(['constructor', '__proto__'])('are counted if one is named %s', (state) => {
    const states = Object.fromEntries([[state, 2]]);
    const [stretch] = timelineOf(hourOf([0, 1], states), at(2)).stretches;

    expect(Object.entries(stretch?.states ?? {})).toEqual([[state, 4]]);
  });

  it('have a gap where samples are missing for more than 3 intervals', () => {
    const silent = everyOther.filter((minute) => minute < 20 || minute > 40);

    expect(stretchesOf(hourOf(silent))).toEqual([
      ['busy', 0, 20],
      [null, 20, 42],
      ['busy', 42, 60],
    ]);
  });

  it('have no gap in the current minute', () => {
    const now = at(50) + 30_000;
    const until = (minute: number) => hourOf(everyOther.filter((one) => one < minute));

    expect(stretchesOf(until(46), now).at(-1)).toEqual(['busy', 0, 50.5]);
    expect(stretchesOf(until(44), now).at(-1)).toEqual([null, 44, 50]);
  });
});

describe('the timeline of any series', () => {
  it('holds every point at its time, and its states do not overlap', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 60 }),
        (minutes) => {
          const series = hourOf(minutes.sort((a, b) => a - b));

          const line = timelineOf(series, at(60));

          expect(line.points.filter((point) => point !== null)).toEqual(series.points);
          line.points.forEach((point, place) => {
            if (point !== null) expect(Date.parse(point.at)).toBe(line.at[place]);
          });
          expect(line.at).toEqual([...line.at].sort((a, b) => a - b));
          line.stretches.slice(1).forEach(({ from }, i) => {
            expect(from).toBe(line.stretches[i]?.to);
          });
        },
      ),
    );
  });
});
