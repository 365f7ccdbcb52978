// Deletes old samples: whole weeks at once, and the rest robot by robot.

import { SvcError } from '../../../base/svc-error.ts';
import type { RetentionStore } from '../../ports/operations.ts';
import type { Db, Tx } from '../db/database.ts';
import { NO_ID } from '../db/rows.ts';
import { raw, sql } from '../db/sql.ts';
import { deleteOldOfNext } from '../retention.ts';
import { bytesIn, walletOf } from '../storage-usage.ts';
import { dropWeek, type Week, weekOf, weeksOf } from './engine/partitions.ts';
import type { Access } from './engine/transactions.ts';
import { PostgresTx, statementsOf } from './engine/tx.ts';

/** Robots checked per step, each with one descent of an index. */
const ROBOTS_AT_ONCE = 100;

/** Drops whole weeks of samples at once, whatever their size, and deletes all other old rows in small steps. */
export function sampleRetention(access: Access, db: Db) {
  return {
    /** Runs one step. A cursor names the table of a week, or `rows`, and the last robot that is done there. */
    async deleteSamples(before, limit, cursor) {
      const [phase, place = NO_ID] = cursor === null ? [] : cursor.split(' ');
      if (phase === 'rows') return deleteRows(db, before, limit, place);
      for (;;) {
        const [week] = await weeksOf(access);
        if (week === undefined || week.to > before) {
          return deleteRows(db, before, limit, NO_ID);
        }
        const from = phase === week.table ? place : NO_ID;
        const next = await takeFromWeek(db, week, limit, from);
        if (next !== null) return next;
        if (!(await dropUnlessInUse(access, week))) return deleteRows(db, before, limit, NO_ID);
      }
    },
  } satisfies Partial<RetentionStore>;
}

/** Saves the horizons of the week's robots and deletes the minutes before. Returns `null` after the last robot. */
async function takeFromWeek({ write }: Db, week: Week, limit: number, place: string) {
  const { robots, more } = await write(async (tx) => {
    const ids = await robotsWithin(tx, week, place);
    await saveHorizons(tx, week, ids);
    const deleted = await tx.run(sql`DELETE FROM telemetry_rollups WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM telemetry_rollups
      WHERE robot_id = ANY(${ids}::uuid[]) AND resolution = 'minute' AND at < ${week.to}
      LIMIT ${limit}))`);
    return { robots: ids, more: deleted === limit };
  });
  if (more) return `${week.table} ${place}`;
  const last = robots.at(-1);
  return robots.length === ROBOTS_AT_ONCE ? `${week.table} ${last}` : null;
}

/** Drops the week. Returns false if a long query uses the table: the next round tries again. */
async function dropUnlessInUse(access: Access, week: Week): Promise<boolean> {
  try {
    await dropWeek(access, week, (queries) =>
      leaveWeek(new PostgresTx(queries, statementsOf(access.instant)), week),
    );
    return true;
  } catch (error) {
    if (error instanceof SvcError) return false;
    throw error;
  }
}

/** Saves the horizons of all the week's robots and subtracts their usage, also of those whose first sample of the week came later. */
async function leaveWeek(tx: Tx, week: Week): Promise<void> {
  for (let place: string | undefined = NO_ID; place !== undefined; ) {
    const robots = await robotsWithin(tx, week, place);
    await saveHorizons(tx, week, robots);
    await subtractWeek(tx, week, robots);
    place = robots.length === ROBOTS_AT_ONCE ? robots.at(-1) : undefined;
  }
}

/** The robots after `place` that have samples of the week, in order of ids (a loose index scan). */
async function robotsWithin(tx: Tx, { from, to }: Week, place: string): Promise<string[]> {
  const found = await tx.all<{ robot_id: string }>(sql`WITH RECURSIVE found (robot_id, place) AS (
      (SELECT robot_id, 1 FROM telemetry
       WHERE robot_id > ${place} AND recorded_at >= ${from} AND recorded_at < ${to}
       ORDER BY robot_id LIMIT 1)
      UNION ALL
      SELECT next.robot_id, found.place + 1 FROM found CROSS JOIN LATERAL (
        SELECT robot_id FROM telemetry
        WHERE robot_id > found.robot_id AND recorded_at >= ${from} AND recorded_at < ${to}
        ORDER BY robot_id LIMIT 1) AS next
      WHERE found.place < ${ROBOTS_AT_ONCE})
    SELECT robot_id FROM found ORDER BY robot_id`);
  return found.map(({ robot_id }) => robot_id);
}

async function saveHorizons(tx: Tx, { to }: Week, robots: readonly string[]): Promise<void> {
  await tx.run(sql`INSERT INTO telemetry_horizons AS h (robot_id, before)
    SELECT robot_id, ${to}::bigint FROM unnest(${robots}::uuid[]) AS robot_id
    ON CONFLICT (robot_id) DO UPDATE SET before = excluded.before WHERE h.before < excluded.before`);
}

const BYTES = raw(bytesIn('telemetry', 'telemetry'));
const WALLET = raw(walletOf('of_robots.robot_id'));

/** Subtracts the samples of the week from the usage of their accounts. */
async function subtractWeek(tx: Tx, { from, to }: Week, robots: readonly string[]): Promise<void> {
  await tx.run(sql`WITH gone AS (
      SELECT ${WALLET} AS wallet, bytes FROM (
        SELECT robot_id, sum(${BYTES}) AS bytes FROM telemetry
        WHERE robot_id = ANY(${robots}::uuid[]) AND recorded_at >= ${from} AND recorded_at < ${to}
        GROUP BY robot_id) AS of_robots)
    INSERT INTO storage_usage AS u (wallet, bytes)
      SELECT wallet, -sum(bytes) FROM gone WHERE wallet IS NOT NULL GROUP BY wallet ORDER BY wallet
      ON CONFLICT (wallet) DO UPDATE SET bytes = u.bytes + excluded.bytes`);
}

/** Deletes old samples of the next robot after `place` that has any. Returns the next cursor. */
async function deleteRows(db: Db, before: number, limit: number, place: string) {
  // Reads no partition after that of `before`.
  const from = { place, before, upTo: weekOf(before).to };
  const next = await deleteOldOfNext(db, from, limit);
  return next && `rows ${next}`;
}
