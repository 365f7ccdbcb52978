// Checks the roll-ups of a robot's day against its samples, for both stores.

import type { Resolution } from '../../../protocol/telemetry.ts';
import {
  type Aggregate,
  agree,
  type RollUpNames,
  rollUpNames,
  type StoredNames,
} from '../rows/aggregate.ts';
import { decodeAggregate } from '../rows/aggregate-bytes.ts';
import { DayAggregates, resolutions } from '../rows/roll-ups.ts';

/** The aggregates of a robot's day (UTC), recomputed from its samples. */
export interface RobotDay {
  robotId: string;
  day: number;
  aggregates: DayAggregates;
  /** The number of names stored for the day. */
  storedNames: number;
}

export function startDay(robotId: string, day: number, stored: StoredNames): RobotDay {
  const names = rollUpNames(stored);
  return { robotId, day, aggregates: new DayAggregates(names), storedNames: countNames(names) };
}

interface StoredAggregate {
  at: number;
  samples: number;
  summary: Buffer;
}

/**
 * Yields the violations of one day. `horizonOrNull` is the time before which retention deleted samples of the robot;
 * `null` if it deleted none.
 */
export function* violationsOfDay(
  { robotId, day, aggregates, storedNames }: RobotDay,
  horizonOrNull: number | null,
  stored: (resolution: Resolution) => readonly StoredAggregate[],
): Generator<string> {
  const horizon = horizonOrNull ?? Number.NEGATIVE_INFINITY;
  if (day >= horizon && countNames(aggregates.names) > storedNames) {
    yield `day ${day} of robot ${robotId} lacks names of its samples`;
  }
  for (const resolution of resolutions) {
    const unseen = new Map(stored(resolution).map((row) => [row.at, row]));
    for (const [at, counted] of aggregates.by(resolution)) {
      const row = unseen.get(at);
      unseen.delete(at);
      if (at < horizon && (resolution === 'minute' || counted.samples <= (row?.samples ?? 0))) {
        continue;
      }
      if (row === undefined || !saysTheSame(row, counted)) {
        yield `the ${resolution} ${at} of robot ${robotId} differs from its samples`;
      }
    }
    for (const at of unseen.keys()) {
      if (at >= horizon) yield `the ${resolution} ${at} of robot ${robotId} has no samples`;
    }
  }
}

function countNames({ states, metrics }: RollUpNames): number {
  return states.size + metrics.size;
}

function saysTheSame({ samples, summary }: StoredAggregate, counted: Aggregate): boolean {
  try {
    return agree(counted, decodeAggregate(samples, summary));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
