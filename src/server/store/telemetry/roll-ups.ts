// Groups telemetry samples by minute, hour and day (UTC).

import type { Resolution } from '../../../protocol/telemetry.ts';
import { type SampleRecord, stepMs } from '../../ports/telemetry.ts';
import type { Awaitable } from '../db/tx.ts';
import {
  Aggregate,
  addEncoded,
  encodeAggregate,
  numbered,
  type RollUpNames,
  readingsOf,
  type SampleReadings,
  type StoredNames,
} from './aggregate.ts';

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

/** A stored aggregate. */
export interface StoredAggregate {
  samples: number;
  summary: Buffer;
}

/** The interval of a robot's day, with its aggregate. */
export interface AggregateOfDay extends StoredAggregate {
  resolution: Resolution;
  at: number;
}

/** Reused: a new one costs several times as much. */
const aggregate = new Aggregate();

/** The aggregates of the samples of a robot's day, added to the stored ones. Gives new names a number. */
export async function addToAggregates(
  samples: readonly SampleRecord[],
  names: RollUpNames,
  storedOf: (resolution: Resolution, at: number) => Awaitable<StoredAggregate | undefined>,
): Promise<AggregateOfDay[]> {
  const counted = samples.map((sample) => {
    return { recordedAt: sample.recordedAt, readings: numbered(names, readingsOf(sample)) };
  });
  const added: AggregateOfDay[] = [];
  for (const resolution of resolutions) {
    for (const [at, ofInterval] of byInterval(resolution, counted)) {
      const stored = await storedOf(resolution, at);
      aggregate.clear();
      if (stored !== undefined) addEncoded(aggregate, stored.samples, stored.summary);
      for (const { readings } of ofInterval) aggregate.add(readings);
      const summary = encodeAggregate(aggregate);
      added.push({ resolution, at, samples: aggregate.samples, summary });
    }
  }
  return added;
}

/** The names of a day as they are stored; null if the stored ones have no new ones. */
export function newNames({ states, metrics }: RollUpNames, stored: StoredNames): string | null {
  const isNew = states.size > stored.states.length || metrics.size > stored.metrics.length;
  return isNew ? JSON.stringify({ states: states.names, metrics: metrics.names }) : null;
}
