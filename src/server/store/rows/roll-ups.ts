// Groups telemetry samples by minute, hour and day (UTC).

import type { Resolution } from '../../../protocol/telemetry.ts';
import { stepMs } from '../../ports/telemetry.ts';
import { Aggregate, numbered, type RollUpNames, type SampleReadings } from './aggregate.ts';

export const resolutions = ['minute', 'hour', 'day'] as const;

/** The start of the interval (UTC) that contains the instant, in ms. */
export function beginOf(resolution: Resolution, instant: number): number {
  return Math.floor(instant / stepMs[resolution]) * stepMs[resolution];
}

/** The aggregates of one robot's day (UTC), by resolution and start of the interval. */
export class DayAggregates {
  readonly names: RollUpNames;
  readonly #aggregates: Record<Resolution, Map<number, Aggregate>> = {
    minute: new Map(),
    hour: new Map(),
    day: new Map(),
  };

  constructor(names: RollUpNames) {
    this.names = names;
  }

  add(recordedAt: number, sample: SampleReadings): void {
    const readings = numbered(this.names, sample);
    for (const resolution of resolutions) {
      const at = beginOf(resolution, recordedAt);
      const aggregates = this.#aggregates[resolution];
      const aggregate = aggregates.get(at) ?? new Aggregate();
      aggregates.set(at, aggregate);
      aggregate.add(readings);
    }
  }

  by(resolution: Resolution): ReadonlyMap<number, Aggregate> {
    return this.#aggregates[resolution];
  }
}

/** Groups items by the start of their interval. */
export function byInterval<Item extends { recordedAt: number }>(
  resolution: Resolution,
  items: readonly Item[],
): Map<number, Item[]> {
  const intervals = new Map<number, Item[]>();
  for (const item of items) {
    const at = beginOf(resolution, item.recordedAt);
    const ofInterval = intervals.get(at) ?? [];
    intervals.set(at, ofInterval);
    ofInterval.push(item);
  }
  return intervals;
}
