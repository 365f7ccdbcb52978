// Stores retention: deletes old samples and events, and what deleted robots left behind.

import type { RetentionStore } from '../ports/operations.ts';
import {
  deleteInCommit,
  first,
  lockRows,
  rows,
  type StepRunner,
  type Steps,
  selected,
} from './engine/steps.ts';
import { beginOf } from './rows/roll-ups.ts';
import { freed, freeing } from './storage-usage.ts';

/** Robots checked for old samples per step. */
const ROBOTS_AT_ONCE = 100;

/** Deletes some rows of a robot. */
const someOf = (table: string, key: string) => `DELETE FROM ${table} WHERE (${key}) IN (
  SELECT ${key} FROM ${table} WHERE robot_id = $1 LIMIT $2) RETURNING robot_id`;

export const retentionSql = {
  // The first sample after those of a robot is the oldest of the next robot.
  nextRobot: `SELECT robot_id, recorded_at FROM telemetry
    WHERE robot_id > $1 AND recorded_at < $2 ORDER BY robot_id, recorded_at LIMIT 1`,
  lockRobot: 'SELECT id FROM robots WHERE id = $1 FOR NO KEY UPDATE',
  oldest: `SELECT recorded_at, id FROM telemetry
    WHERE robot_id = $1 AND recorded_at < $2 ORDER BY recorded_at, id LIMIT $3`,
  deleteUpTo: `DELETE FROM telemetry
    WHERE robot_id = $1 AND recorded_at <= $2 AND (recorded_at, id) <= ($2, $3::uuid)
    RETURNING ${freed.telemetry}`,
  oldestLeft: `SELECT recorded_at FROM telemetry WHERE robot_id = $1
    ORDER BY recorded_at LIMIT 1`,
  deleteMinutes: `DELETE FROM telemetry_rollups
    WHERE robot_id = $1 AND resolution = 'minute' AND at < $2`,
  saveHorizon: `INSERT INTO telemetry_horizons (robot_id, before) VALUES ($1, $2)
    ON CONFLICT (robot_id) DO UPDATE SET before = excluded.before
    WHERE telemetry_horizons.before < excluded.before`,
  oldEvents: `DELETE FROM events WHERE seq ${selected(`SELECT seq FROM (
      SELECT seq, created_at FROM events WHERE seq > 0 ORDER BY seq LIMIT $2) AS first
    WHERE created_at < $1`)} RETURNING ${freed.events}`,
  nextWallet: 'SELECT wallet FROM robot_traces WHERE wallet > $1 ORDER BY wallet LIMIT 1',
  nextTrace: 'SELECT robot_id FROM robot_traces WHERE wallet = $1 LIMIT 1',
  forget: 'DELETE FROM robot_traces WHERE robot_id = $1',
  rollups: someOf('telemetry_rollups', 'robot_id, resolution, at'),
  names: someOf('telemetry_names', 'robot_id, day'),
  horizons: someOf('telemetry_horizons', 'robot_id'),
  events: `DELETE FROM events WHERE seq ${selected(`SELECT seq FROM events
    WHERE robot_id = $1 LIMIT $2`)} RETURNING ${freed.events}`,
} as const;

type Deletion = (robotId: string, most: number) => Steps<number>;

export function retentionStore(runner: StepRunner) {
  const { read, write, deletions } = runner;
  const ofRobot = deletionsOfRobot(runner);

  return {
    deleteEvents: async (before, limit) => {
      const deleted = await write(() =>
        deleteInCommit(deletions, limit, (most) =>
          freeing(runner, retentionSql.oldEvents, before, most),
        ),
      );
      return deleted.more;
    },

    nextWithTraces: async (after) => {
      const next = await read(() => first<{ wallet: string }>(retentionSql.nextWallet, after));
      return next?.wallet ?? null;
    },

    deleteTraces: (wallet, limit) =>
      write(function* () {
        type Trace = { robot_id: string };
        const trace = yield* first<Trace>(retentionSql.nextTrace, wallet);
        if (trace === undefined) return false;
        const { more } = yield* deleteInCommit(deletions, limit, function* (most) {
          for (const deletion of ofRobot) {
            const deleted = yield* deletion(trace.robot_id, most);
            if (deleted > 0) return deleted;
          }
          return 0;
        });
        if (!more) yield* rows(retentionSql.forget, trace.robot_id);
        return true;
      }),
  } satisfies Partial<RetentionStore>;
}

/** All that a robot may leave behind. */
function deletionsOfRobot(runner: StepRunner): Deletion[] {
  const { rollups, names, horizons, events } = retentionSql;
  const counted = (text: string): Deletion =>
    function* (...values) {
      return (yield* rows(text, ...values)).length;
    };
  return [
    (robotId, most) => deleteOldest(runner, { robotId, before: Number.MAX_SAFE_INTEGER }, most),
    counted(rollups),
    counted(names),
    counted(horizons),
    (robotId, most) => freeing(runner, events, robotId, most),
  ];
}

/**
 * Deletes samples before `before` of the next robot after `place` that has any. Only robots with samples before `upTo` are
 * looked at. Returns the place of the next step; `null` at the end.
 */
export async function deleteOldOfNext(
  runner: StepRunner,
  { place, before, upTo }: { place: string; before: number; upTo: number },
  limit: number,
): Promise<string | null> {
  const next = await runner.read(() => findNext(place, before, upTo));
  if (next === null) return null;
  const { robotId, hasOld } = next;
  if (!hasOld) return robotId;
  const more = await runner.write(() => deleteOldSamples(runner, { robotId, before }, limit));
  return more ? place : robotId;
}

/** The next robot with old samples, or the last one that was looked at. `null` at the end. */
function* findNext(place: string, before: number, upTo: number) {
  let robotId = place;
  for (let looked = 0; looked < ROBOTS_AT_ONCE; looked += 1) {
    type Oldest = { robot_id: string; recorded_at: number };
    const next = yield* first<Oldest>(retentionSql.nextRobot, robotId, upTo);
    if (next === undefined) return null;
    robotId = next.robot_id;
    if (next.recorded_at < before) return { robotId, hasOld: true };
  }
  return { robotId, hasOld: false };
}

/**
 * Deletes old samples of a robot and its minutes before the oldest one that is left, of which there are at most
 * `limit` + 1, because each had a sample. Returns true if there may be more. Call it inside a write.
 */
function* deleteOldSamples(
  runner: StepRunner,
  old: { robotId: string; before: number },
  limit: number,
): Steps<boolean> {
  const { robotId, before } = old;
  yield* lockRows(retentionSql.lockRobot, robotId);
  const { more } = yield* deleteInCommit(runner.deletions, limit, (most) =>
    deleteOldest(runner, old, most),
  );
  const left = yield* first<{ recorded_at: number }>(retentionSql.oldestLeft, robotId);
  const minutes = left === undefined ? before : beginOf('minute', left.recorded_at);
  yield* rows(retentionSql.deleteMinutes, robotId, minutes);
  const horizon = Math.min(left?.recorded_at ?? before, before);
  yield* rows(retentionSql.saveHorizon, robotId, horizon);
  return more;
}

/** Deletes up to `most` of the robot's oldest samples. Returns their number. */
function* deleteOldest(
  runner: StepRunner,
  { robotId, before }: { robotId: string; before: number },
  most: number,
): Steps<number> {
  type Sample = { recorded_at: number; id: string };
  const oldest = yield* rows<Sample>(retentionSql.oldest, robotId, before, most);
  const last = oldest.at(-1);
  if (last === undefined) return 0;
  return yield* freeing(runner, retentionSql.deleteUpTo, robotId, last.recorded_at, last.id);
}
