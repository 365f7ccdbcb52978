// Stores retention: deletes old samples and events, and what deleted robots left behind.

import type { RetentionStore } from '../ports/operations.ts';
import {
  type Awaitable,
  type Db,
  type DeletionLimits,
  deleteInCommit,
  type Tx,
} from './db/database.ts';
import { onPostgres, selected } from './db/dialect.ts';
import { raw, sql } from './db/sql.ts';
import { freed, freeing } from './storage-usage.ts';
import { beginOf } from './telemetry/roll-ups.ts';

/** Robots checked for old samples per step. */
const ROBOTS_AT_ONCE = 100;

const FREED_EVENT = raw(freed.events);

export function retentionStore({ get, write, deletions }: Db) {
  return {
    deleteEvents: async (before, limit) => {
      const deleted = await write((tx) =>
        deleteInCommit(deletions, limit, (most) => {
          const old = sql`SELECT seq FROM (
              SELECT seq, created_at FROM events WHERE seq > 0 ORDER BY seq LIMIT ${most}) AS first
            WHERE created_at < ${before}`;
          return freeing(
            tx,
            sql`DELETE FROM events WHERE seq ${selected(old)} RETURNING ${FREED_EVENT}`,
          );
        }),
      );
      return deleted.more;
    },

    nextWithTraces: async (after) => {
      const next = await get<{ wallet: string }>(
        sql`SELECT wallet FROM robot_traces WHERE wallet > ${after} ORDER BY wallet LIMIT 1`,
      );
      return next?.wallet ?? null;
    },

    deleteTraces: (wallet, limit) =>
      write(async (tx) => {
        const trace = await tx.get<{ robot_id: string }>(
          sql`SELECT robot_id FROM robot_traces WHERE wallet = ${wallet} LIMIT 1`,
        );
        if (trace === null) return false;
        const { robot_id: robotId } = trace;
        const { more } = await deleteInCommit(deletions, limit, async (most) => {
          for (const deletion of deletionsOfRobot) {
            const deleted = await deletion(tx, robotId, most);
            if (deleted > 0) return deleted;
          }
          return 0;
        });
        if (!more) await tx.run(sql`DELETE FROM robot_traces WHERE robot_id = ${robotId}`);
        return true;
      }),
  } satisfies Partial<RetentionStore>;
}

type Deletion = (tx: Tx, robotId: string, most: number) => Awaitable<number>;

/** All that a robot may leave behind. */
const deletionsOfRobot: readonly Deletion[] = [
  (tx, robotId, most) => deleteOldest(tx, { robotId, before: Number.MAX_SAFE_INTEGER }, most),
  deletionFrom('telemetry_rollups', 'robot_id, resolution, at'),
  deletionFrom('telemetry_horizons', 'robot_id'),
  (tx, robotId, most) => {
    const some = sql`SELECT seq FROM events WHERE robot_id = ${robotId} LIMIT ${most}`;
    return freeing(
      tx,
      sql`DELETE FROM events WHERE seq ${selected(some)} RETURNING ${FREED_EVENT}`,
    );
  },
];

/** Deletes some rows of a robot. */
function deletionFrom(table: string, key: string): Deletion {
  const [from, columns] = [raw(table), raw(key)];
  return (tx, robotId, most) =>
    tx.run(sql`DELETE FROM ${from} WHERE (${columns}) IN (
      SELECT ${columns} FROM ${from} WHERE robot_id = ${robotId} LIMIT ${most})`);
}

/**
 * Deletes samples before `before` of the next robot after `place` that has any. Only robots with samples before `upTo` are
 * looked at. Returns the place of the next step; `null` at the end.
 */
export async function deleteOldOfNext(
  { read, write, deletions }: Db,
  { place, before, upTo }: { place: string; before: number; upTo: number },
  limit: number,
): Promise<string | null> {
  const next = await read((tx) => findNext(tx, place, before, upTo));
  if (next === null) return null;
  const { robotId, hasOld } = next;
  if (!hasOld) return robotId;
  const more = await write((tx) => deleteOldSamples(tx, deletions, { robotId, before }, limit));
  return more ? place : robotId;
}

/** The next robot with old samples, or the last one that was looked at. `null` at the end. */
async function findNext(tx: Tx, place: string, before: number, upTo: number) {
  let robotId = place;
  for (let looked = 0; looked < ROBOTS_AT_ONCE; looked += 1) {
    type Oldest = { robot_id: string; recorded_at: number };
    // The first sample after those of a robot is the oldest of the next robot.
    const next = await tx.get<Oldest>(sql`SELECT robot_id, recorded_at FROM telemetry
      WHERE robot_id > ${robotId} AND recorded_at < ${upTo}
      ORDER BY robot_id, recorded_at LIMIT 1`);
    if (next === null) return null;
    robotId = next.robot_id;
    if (next.recorded_at < before) return { robotId, hasOld: true };
  }
  return { robotId, hasOld: false };
}

interface Old {
  robotId: string;
  before: number;
}

/**
 * Deletes old samples of a robot and its minutes before the oldest one that is left, of which there are at most
 * `limit` + 1, because each had a sample. Returns true if there may be more. Call it inside a write.
 */
async function deleteOldSamples(tx: Tx, deletions: DeletionLimits, old: Old, limit: number) {
  const { robotId, before } = old;
  await tx.run(onPostgres(sql`SELECT id FROM robots WHERE id = ${robotId} FOR NO KEY UPDATE`));
  const { more } = await deleteInCommit(deletions, limit, (most) => deleteOldest(tx, old, most));
  const left = await tx.get<{ recorded_at: number }>(
    sql`SELECT recorded_at FROM telemetry WHERE robot_id = ${robotId} ORDER BY recorded_at LIMIT 1`,
  );
  const minutes = left === null ? before : beginOf('minute', left.recorded_at);
  await tx.run(sql`DELETE FROM telemetry_rollups
    WHERE robot_id = ${robotId} AND resolution = 'minute' AND at < ${minutes}`);
  const horizon = Math.min(left?.recorded_at ?? before, before);
  await tx.run(sql`INSERT INTO telemetry_horizons (robot_id, before) VALUES (${robotId}, ${horizon})
    ON CONFLICT (robot_id) DO UPDATE SET before = excluded.before
    WHERE telemetry_horizons.before < excluded.before`);
  return more;
}

/** Deletes up to `most` of the robot's oldest samples. Returns their number. */
async function deleteOldest(tx: Tx, { robotId, before }: Old, most: number): Promise<number> {
  type Sample = { recorded_at: number; id: string };
  const oldest = await tx.all<Sample>(sql`SELECT recorded_at, id FROM telemetry
    WHERE robot_id = ${robotId} AND recorded_at < ${before}
    ORDER BY recorded_at, id LIMIT ${most}`);
  const last = oldest.at(-1);
  if (last === undefined) return 0;
  const { recorded_at: at, id } = last;
  return freeing(
    tx,
    sql`DELETE FROM telemetry
      WHERE robot_id = ${robotId} AND recorded_at <= ${at} AND (recorded_at, id) <= (${at}, ${id})
      RETURNING ${raw(freed.telemetry)}`,
  );
}
