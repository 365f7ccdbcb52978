// Deletes old samples, robot by robot.

import type { RetentionStore } from '../../ports/retention.ts';
import type { StepRunner } from '../engine/steps.ts';
import { deleteOldSamples } from '../retention.ts';
import type { Access } from './engine/connections.ts';

/** Robots checked for old samples per step. */
const ROBOTS_AT_ONCE = 100;

export function sampleRetention(
  { reader, read }: Access,
  runner: StepRunner,
): Pick<RetentionStore, 'deleteSamples'> {
  // The first row of the next robot is its oldest sample.
  const nextRobot = reader.prepare<[string], { robot_id: string; recorded_at: number }>(
    `SELECT robot_id, recorded_at FROM telemetry WHERE robot_id > ?
     ORDER BY robot_id, recorded_at LIMIT 1`,
  );
  /** Finds the next robot with old samples. `robotId` is null if none was found up to `place`; `null` at the end. */
  const findNext = (cursor: string, before: number) => {
    let place = cursor;
    for (let looked = 0; looked < ROBOTS_AT_ONCE; looked += 1) {
      const next = nextRobot.get(place);
      if (next === undefined) return null;
      if (next.recorded_at < before) return { robotId: next.robot_id, place };
      place = next.robot_id;
    }
    return { robotId: null, place };
  };
  return {
    async deleteSamples(before, limit, cursor) {
      const found = await read(() => findNext(cursor ?? '', before));
      if (found === null) return null;
      const { robotId, place } = found;
      if (robotId === null) return place;
      const more = await runner.write(() => deleteOldSamples(runner, { robotId, before }, limit));
      return more ? place : robotId;
    },
  };
}
