// Fills the gaps of a series. Its own file, so that its test needs no browser.
import type { Series, SeriesPoint } from '../../protocol/telemetry.ts';

const STEP_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** All intervals of a series in order. An interval without samples is null: a gap, which no line may cross. */
export function intervalsOf({ resolution, from, to, points }: Series): {
  at: number[];
  points: (SeriesPoint | null)[];
} {
  const step = STEP_MS[resolution];
  const found = new Map(points.map((point) => [Date.parse(point.at), point]));
  const first = Math.floor(Date.parse(from) / step) * step;
  const count = Math.ceil((Date.parse(to) - first) / step);
  const at = Array.from({ length: count }, (_, place) => first + place * step);
  return { at, points: at.map((moment) => found.get(moment) ?? null) };
}
