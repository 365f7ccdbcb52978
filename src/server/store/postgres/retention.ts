// Stores retention: deletes old samples and events, and what deleted robots left behind.

import { SvcError } from '../../../base/svc-error.ts';
import type { RetentionStore } from '../../ports/retention.ts';
import { beginOf } from '../rows/roll-ups.ts';
import { bytesIn, walletOf } from '../storage-usage.ts';
import type { Queries } from './engine/connections.ts';
import { dropWeek, type Week, weekOf, weeksOf } from './engine/partitions.ts';
import { NO_UUID, sql } from './engine/sql.ts';
import { freeing, rowsOf, subtracting } from './engine/storage-usage.ts';
import type { Access } from './engine/transactions.ts';

/** Robots checked per step, each with one descent of an index. */
const ROBOTS_AT_ONCE = 100;

interface Step {
  before: number;
  limit: number;
}

/** The robots after `$1` that have samples of a time range, in order of ids (a loose index scan). */
const robotsWithin = sql(`WITH RECURSIVE found (robot_id, place) AS (
    (SELECT robot_id, 1 FROM telemetry WHERE robot_id > $1 AND recorded_at >= $2 AND recorded_at < $3
     ORDER BY robot_id LIMIT 1)
    UNION ALL
    SELECT next.robot_id, found.place + 1 FROM found CROSS JOIN LATERAL (
      SELECT robot_id FROM telemetry
      WHERE robot_id > found.robot_id AND recorded_at >= $2 AND recorded_at < $3
      ORDER BY robot_id LIMIT 1) AS next
    WHERE found.place < ${ROBOTS_AT_ONCE})
  SELECT robot_id FROM found ORDER BY robot_id`);
// The same, with the oldest sample of each robot, until one is old enough. Reads no partition after $3.
const nextWithOld = sql(`WITH RECURSIVE looked (robot_id, oldest, place) AS (
    (SELECT robot_id, recorded_at, 1 FROM telemetry WHERE robot_id > $1 AND recorded_at < $3
     ORDER BY robot_id, recorded_at LIMIT 1)
    UNION ALL
    SELECT next.robot_id, next.recorded_at, looked.place + 1
    FROM looked CROSS JOIN LATERAL (
      SELECT robot_id, recorded_at FROM telemetry
      WHERE robot_id > looked.robot_id AND recorded_at < $3
      ORDER BY robot_id, recorded_at LIMIT 1) AS next
    WHERE looked.oldest >= $2 AND looked.place < ${ROBOTS_AT_ONCE})
  SELECT robot_id, oldest < $2 AS is_old FROM looked ORDER BY place DESC LIMIT 1`);
const lockRobot = sql('SELECT FROM robots WHERE id = $1 FOR NO KEY UPDATE');
const readOldest = sql(`SELECT recorded_at, id FROM telemetry
  WHERE robot_id = $1 AND recorded_at < $2 ORDER BY recorded_at, id LIMIT $3`);
const deleteUpTo = freeing(
  'telemetry',
  `DELETE FROM telemetry
   WHERE robot_id = $1 AND recorded_at <= $2 AND (recorded_at, id) <= ($2, $3::uuid)`,
);
// Before the table of a week is dropped.
const subtractWeek = sql(`WITH gone AS (
    SELECT ${walletOf('of_robots.robot_id')} AS wallet, bytes FROM (
      SELECT robot_id, sum(${bytesIn('telemetry', 'telemetry')}) AS bytes FROM telemetry
      WHERE robot_id = ANY($1::uuid[]) AND recorded_at >= $2 AND recorded_at < $3
      GROUP BY robot_id) AS of_robots)
  ${subtracting('gone')}`);
const readOldestLeft = sql(`SELECT recorded_at FROM telemetry WHERE robot_id = $1
  ORDER BY recorded_at LIMIT 1`);
const deleteMinutes = sql(`DELETE FROM telemetry_rollups WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM telemetry_rollups
  WHERE robot_id = ANY($1::uuid[]) AND resolution = 'minute' AND at < $2 LIMIT $3))`);
const saveHorizons = sql(`INSERT INTO telemetry_horizons AS h (robot_id, before)
  SELECT robot_id, $2::bigint FROM unnest($1::uuid[]) AS robot_id
  ON CONFLICT (robot_id) DO UPDATE SET before = excluded.before WHERE h.before < excluded.before`);
const deleteOldEvents = freeing(
  'events',
  `DELETE FROM events WHERE seq IN (
     SELECT seq FROM (SELECT seq, created_at FROM events ORDER BY seq LIMIT $2) AS first
     WHERE created_at < $1)`,
);

const nextTrace = sql('SELECT robot_id FROM robot_traces ORDER BY robot_id LIMIT 1');
const forget = sql('DELETE FROM robot_traces WHERE robot_id = $1');
const someOf = (table: string) => `DELETE FROM ${table}
  WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE robot_id = $1 LIMIT $2))`;
const deletions = ['telemetry_rollups', 'telemetry_names', 'telemetry_horizons'].map((table) =>
  sql(someOf(table)),
);
const deleteEventsOf = freeing('events', someOf('events'));

/** Drops whole weeks of samples at once, whatever their size, and deletes all other old rows in small steps. */
export function retentionStore(access: Access): RetentionStore {
  return {
    deleteSamples: (before, limit, cursor) => deleteSamples(access, { before, limit }, cursor),

    deleteEvents: async (before, limit) =>
      (await rowsOf(access, deleteOldEvents, [before, limit])) === limit,

    deleteTraces: (limit) => access.write((tx) => deleteTraces(tx, limit)),
  };
}

/** Runs one step. A cursor names the table of a week, or `rows`, and the last robot that is done there. */
async function deleteSamples(
  access: Access,
  step: Step,
  cursor: string | null,
): Promise<string | null> {
  const [phase, place = NO_UUID] = cursor === null ? [] : cursor.split(' ');
  if (phase === 'rows') return deleteRows(access, step, place);
  const [week] = await weeksOf(access);
  if (week === undefined || week.to > step.before) return deleteRows(access, step, NO_UUID);
  const next = await takeFromWeek(access, week, step, phase === week.table ? place : NO_UUID);
  if (next !== null) return next;
  const isDropped = await dropUnlessInUse(access, week);
  return deleteSamples(access, step, isDropped ? null : `rows ${NO_UUID}`);
}

/** Saves the horizons of the week's robots and deletes the minutes before. Returns `null` after the last robot. */
async function takeFromWeek(
  access: Access,
  week: Week,
  { limit }: Step,
  place: string,
): Promise<string | null> {
  const { robots, more } = await access.write(async (tx) => {
    const rows = await tx.rows<{ robot_id: string }>(robotsWithin, [place, week.from, week.to]);
    const ids = rows.map(({ robot_id }) => robot_id);
    await tx.run(saveHorizons, [ids, week.to]);
    const deleted = await tx.run(deleteMinutes, [ids, week.to, limit]);
    return { robots: ids, more: deleted === limit };
  });
  if (more) return `${week.table} ${place}`;
  const last = robots.at(-1);
  return robots.length === ROBOTS_AT_ONCE ? `${week.table} ${last}` : null;
}

/** Drops the week. Returns false if a long query uses the table: the next round tries again. */
async function dropUnlessInUse(access: Access, week: Week): Promise<boolean> {
  try {
    await dropWeek(access, week, (tx) => saveAllHorizons(tx, week));
    return true;
  } catch (error) {
    if (error instanceof SvcError) return false;
    throw error;
  }
}

/** Saves the horizons of all the week's robots and subtracts their usage, also of those whose first sample of the week came later. */
async function saveAllHorizons(tx: Queries, week: Week): Promise<void> {
  for (let place: string | undefined = NO_UUID; place !== undefined; ) {
    const rows: { robot_id: string }[] = await tx.rows(robotsWithin, [place, week.from, week.to]);
    const robots = rows.map(({ robot_id }) => robot_id);
    await tx.run(saveHorizons, [robots, week.to]);
    await tx.run(subtractWeek, [robots, week.from, week.to]);
    place = robots.length === ROBOTS_AT_ONCE ? robots.at(-1) : undefined;
  }
}

/** Deletes old samples of the next robot after `place` that has any. Returns the next cursor. */
async function deleteRows(access: Access, step: Step, place: string): Promise<string | null> {
  const { before } = step;
  const found = await access.first<{ robot_id: string; is_old: boolean }>(nextWithOld, [
    place,
    before,
    weekOf(before).to,
  ]);
  if (found === undefined) return null;
  const { robot_id: robotId } = found;
  if (!found.is_old) return `rows ${robotId}`;
  const more = await access.write((tx) => deleteRowsOf(tx, robotId, step));
  return `rows ${more ? place : robotId}`;
}

/** Returns true if there may be more. Each minute had a sample, so at most `limit` + 1 minutes go. */
async function deleteRowsOf(
  tx: Queries,
  robotId: string,
  { before, limit }: Step,
): Promise<boolean> {
  await tx.rows(lockRobot, [robotId]);
  const more = (await deleteOldest(tx, robotId, { before, limit })) === limit;
  const left = await tx.first<{ recorded_at: number }>(readOldestLeft, [robotId]);
  const horizon = Math.min(left?.recorded_at ?? before, before);
  const minutes = left === undefined ? before : beginOf('minute', left.recorded_at);
  await tx.run(deleteMinutes, [[robotId], minutes, limit + 1]);
  await tx.run(saveHorizons, [[robotId], horizon]);
  return more;
}

/** Deletes up to `limit` of the robot's oldest samples. Returns their number. */
async function deleteOldest(
  tx: Queries,
  robotId: string,
  { before, limit }: Step,
): Promise<number> {
  const rows = await tx.rows<{ recorded_at: number; id: string }>(readOldest, [
    robotId,
    before,
    limit,
  ]);
  const last = rows.at(-1);
  if (last === undefined) return 0;
  return rowsOf(tx, deleteUpTo, [robotId, last.recorded_at, last.id]);
}

async function deleteTraces(tx: Queries, limit: number): Promise<boolean> {
  const robot = await tx.first<{ robot_id: string }>(nextTrace);
  if (robot === undefined) return false;
  const { robot_id: robotId } = robot;
  if ((await deleteOldest(tx, robotId, { before: Number.MAX_SAFE_INTEGER, limit })) > 0)
    return true;
  for (const deletion of deletions) {
    if ((await tx.run(deletion, [robotId, limit])) > 0) return true;
  }
  if ((await rowsOf(tx, deleteEventsOf, [robotId, limit])) > 0) return true;
  await tx.run(forget, [robotId]);
  return true;
}
