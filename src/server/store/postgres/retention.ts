// Deletes old samples: whole weeks at once, and the rest robot by robot.

import { SvcError } from '../../../base/svc-error.ts';
import type { RetentionStore } from '../../ports/operations.ts';
import { NO_ID, type StepRunner } from '../engine/steps.ts';
import { deleteOldOfNext } from '../retention.ts';
import { bytesIn, walletOf } from '../storage-usage.ts';
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/connections.ts';
import { dropWeek, type Week, weekOf, weeksOf } from './engine/partitions.ts';
import type { Access } from './engine/transactions.ts';

/** Robots checked per step, each with one descent of an index. */
const ROBOTS_AT_ONCE = 100;

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
// Before the table of a week is dropped.
const subtractWeek = sql(`WITH gone AS (
    SELECT ${walletOf('of_robots.robot_id')} AS wallet, bytes FROM (
      SELECT robot_id, sum(${bytesIn('telemetry', 'telemetry')}) AS bytes FROM telemetry
      WHERE robot_id = ANY($1::uuid[]) AND recorded_at >= $2 AND recorded_at < $3
      GROUP BY robot_id) AS of_robots)
  INSERT INTO storage_usage AS u (wallet, bytes)
    SELECT wallet, -sum(bytes) FROM gone WHERE wallet IS NOT NULL GROUP BY wallet ORDER BY wallet
    ON CONFLICT (wallet) DO UPDATE SET bytes = u.bytes + excluded.bytes`);
const deleteMinutes = sql(`DELETE FROM telemetry_rollups WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM telemetry_rollups
  WHERE robot_id = ANY($1::uuid[]) AND resolution = 'minute' AND at < $2 LIMIT $3))`);
const saveHorizons = sql(`INSERT INTO telemetry_horizons AS h (robot_id, before)
  SELECT robot_id, $2::bigint FROM unnest($1::uuid[]) AS robot_id
  ON CONFLICT (robot_id) DO UPDATE SET before = excluded.before WHERE h.before < excluded.before`);

/** Drops whole weeks of samples at once, whatever their size, and deletes all other old rows in small steps. */
export function sampleRetention(access: Access, runner: StepRunner) {
  return {
    /** Runs one step. A cursor names the table of a week, or `rows`, and the last robot that is done there. */
    async deleteSamples(before, limit, cursor) {
      const [phase, place = NO_ID] = cursor === null ? [] : cursor.split(' ');
      if (phase === 'rows') return deleteRows(runner, before, limit, place);
      for (;;) {
        const [week] = await weeksOf(access);
        if (week === undefined || week.to > before) {
          return deleteRows(runner, before, limit, NO_ID);
        }
        const from = phase === week.table ? place : NO_ID;
        const next = await takeFromWeek(access, week, limit, from);
        if (next !== null) return next;
        if (!(await dropUnlessInUse(access, week))) return deleteRows(runner, before, limit, NO_ID);
      }
    },
  } satisfies Partial<RetentionStore>;
}

/** Saves the horizons of the week's robots and deletes the minutes before. Returns `null` after the last robot. */
async function takeFromWeek(access: Access, week: Week, limit: number, place: string) {
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
  for (let place: string | undefined = NO_ID; place !== undefined; ) {
    const rows: { robot_id: string }[] = await tx.rows(robotsWithin, [place, week.from, week.to]);
    const robots = rows.map(({ robot_id }) => robot_id);
    await tx.run(saveHorizons, [robots, week.to]);
    await tx.run(subtractWeek, [robots, week.from, week.to]);
    place = robots.length === ROBOTS_AT_ONCE ? robots.at(-1) : undefined;
  }
}

/** Deletes old samples of the next robot after `place` that has any. Returns the next cursor. */
async function deleteRows(runner: StepRunner, before: number, limit: number, place: string) {
  // Reads no partition after that of `before`.
  const from = { place, before, upTo: weekOf(before).to };
  const next = await deleteOldOfNext(runner, from, limit);
  return next && `rows ${next}`;
}
