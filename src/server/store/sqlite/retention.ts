// Stores retention: deletes old samples and events, and what deleted robots left behind.

import type { RetentionStore } from '../../ports/retention.ts';
import { beginOf } from '../rows/roll-ups.ts';
import type { Access } from './engine/connections.ts';
import { repeatInCommit } from './engine/group-commit.ts';

/** Robots checked for old samples per step. */
const ROBOTS_AT_ONCE = 100;

export function retentionStore(access: Access): RetentionStore {
  const { writer, write } = access;
  const deleteOldest = writer.prepare<[number]>(
    `DELETE FROM events WHERE created_at < ? AND seq =
       (SELECT seq FROM events WHERE seq > 0 ORDER BY seq LIMIT 1)`,
  );

  return {
    deleteSamples: deleteOldSamples(access),

    deleteEvents: (before, limit) =>
      write(() => repeatInCommit(limit, () => deleteOldest.run(before).changes > 0).more),

    deleteTraces: deleteTraces(access),
  };
}

function deleteOldSamples({
  reader,
  writer,
  read,
  write,
}: Access): RetentionStore['deleteSamples'] {
  // The first row of the next robot is its oldest sample.
  const nextRobot = reader.prepare<[string], { robot_id: string; recorded_at: number }>(
    `SELECT robot_id, recorded_at FROM telemetry WHERE robot_id > ?
     ORDER BY robot_id, recorded_at LIMIT 1`,
  );
  const deleteOldest = writer.prepare<[string, number]>(
    `DELETE FROM telemetry WHERE (robot_id, recorded_at, id) IN (
       SELECT robot_id, recorded_at, id FROM telemetry WHERE robot_id = ? AND recorded_at < ?
       ORDER BY recorded_at, id LIMIT 1)`,
  );
  const oldestLeft = writer
    .prepare<[string], number>(
      'SELECT recorded_at FROM telemetry WHERE robot_id = ? ORDER BY recorded_at LIMIT 1',
    )
    .pluck();
  const deleteMinutes = writer.prepare<[string, number]>(
    `DELETE FROM telemetry_rollups WHERE robot_id = ? AND resolution = 'minute' AND at < ?`,
  );
  const saveHorizon = writer.prepare<[string, number]>(
    `INSERT INTO telemetry_horizons (robot_id, before) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET before = max(before, excluded.before)`,
  );
  /** Deletes minutes without a limit: each had a sample, so at most `limit` + 1 of them go. */
  const deleteSome = (robotId: string, before: number, limit: number) => {
    const deletion = repeatInCommit(limit, () => deleteOldest.run(robotId, before).changes > 0);
    const oldest = oldestLeft.get(robotId);
    deleteMinutes.run(robotId, oldest === undefined ? before : beginOf('minute', oldest));
    saveHorizon.run(robotId, Math.min(oldest ?? before, before));
    return deletion;
  };
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
  return async (before, limit, cursor) => {
    const found = await read(() => findNext(cursor ?? '', before));
    if (found === null) return null;
    const { robotId, place } = found;
    if (robotId === null) return place;
    const { more } = await write(() => deleteSome(robotId, before, limit));
    return more ? place : robotId;
  };
}

function deleteTraces({ writer, write }: Access): RetentionStore['deleteTraces'] {
  const next = writer.prepare<[], { robot_id: string }>(
    `SELECT robot_id FROM robot_traces WHERE robot_id > '' ORDER BY robot_id LIMIT 1`,
  );
  const deletions = [
    `DELETE FROM telemetry WHERE (robot_id, recorded_at, id) IN (
       SELECT robot_id, recorded_at, id FROM telemetry WHERE robot_id = ? LIMIT 1)`,
    `DELETE FROM telemetry_rollups WHERE (robot_id, resolution, at) IN (
       SELECT robot_id, resolution, at FROM telemetry_rollups WHERE robot_id = ? LIMIT 1)`,
    `DELETE FROM telemetry_names WHERE (robot_id, day) IN (
       SELECT robot_id, day FROM telemetry_names WHERE robot_id = ? LIMIT 1)`,
    'DELETE FROM telemetry_horizons WHERE robot_id = ?',
    `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE robot_id = ? LIMIT 1)`,
  ].map((sql) => writer.prepare<[string]>(sql));
  const forget = writer.prepare<[string]>('DELETE FROM robot_traces WHERE robot_id = ?');
  return (limit) =>
    write(() => {
      const robot = next.get();
      if (robot === undefined) return false;
      for (const deletion of deletions) {
        const { done } = repeatInCommit(limit, () => deletion.run(robot.robot_id).changes > 0);
        if (done > 0) return true;
      }
      forget.run(robot.robot_id);
      return true;
    });
}
