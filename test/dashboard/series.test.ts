import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { intervalsOf } from '../../src/dashboard/charts/series.ts';
import type { Series, SeriesPoint } from '../../src/protocol/telemetry.ts';

const MINUTE_MS = 60_000;
const start = Date.parse('2026-11-21T10:00:30.000Z');

function seriesOf(minutes: number[], length: number): Series {
  const first = Math.floor(start / MINUTE_MS) * MINUTE_MS;
  const points: SeriesPoint[] = minutes.map((minute) => ({
    at: new Date(first + minute * MINUTE_MS).toISOString(),
    samples: 1,
    battery_pct: null,
    states: {},
    metrics: {},
  }));
  return {
    resolution: 'minute',
    from: new Date(start).toISOString(),
    to: new Date(start + length * MINUTE_MS).toISOString(),
    points,
  };
}

describe('the intervals of a series', () => {
  it('hold every point at its time, and nothing where there is none', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 400 }).chain((length) =>
          fc.record({
            length: fc.constant(length),
            minutes: fc.uniqueArray(fc.integer({ min: 0, max: length }), { maxLength: 60 }),
          }),
        ),
        ({ length, minutes }) => {
          const series = seriesOf(
            [...minutes].sort((a, b) => a - b),
            length,
          );

          const { at, points } = intervalsOf(series);

          expect(points.filter((point) => point !== null)).toEqual(series.points);
          points.forEach((point, place) => {
            if (point !== null) expect(Date.parse(point.at)).toBe(at[place]);
          });
          const steps = at.slice(1).map((moment, place) => moment - (at[place] ?? 0));
          expect(new Set(steps).size).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});
