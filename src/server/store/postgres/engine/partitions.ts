// Creates and drops the weekly partitions of the telemetry table.

import { type Queries, sql } from './connections.ts';
import type { Access } from './transactions.ts';

/*
 * A partition of telemetry holds the samples recorded in one week (UTC), starting on Monday. Weeks, not days: a query
 * over all times locks and plans every partition, and a year has 52 weeks but 365 days. Retention still drops most
 * samples of a busy service as whole tables. `telemetry_past` holds samples older than the first week. `telemetry_rest`
 * holds the rest, which is almost nothing: the service accepts samples from at most a day in the future, and creates
 * partitions further ahead.
 */

const DAY_MS = 24 * 60 * 60_000;
const WEEK_MS = 7 * DAY_MS;
/** 1970-01-05, a Monday. */
const A_MONDAY = 4 * DAY_MS;
const AHEAD_MS = 2 * WEEK_MS;
const EVERY_MS = 60 * 60_000;

/** If more samples of a week are already in `telemetry_rest`, they stay there and the week gets no partition. */
const MOVED_AT_MOST = 10_000;

/** The advisory lock of partition changes: an arbitrary number, unique in this service. */
const LOCK = 7_383_920_118;

const readNow = sql('SELECT instant_or($1) AS now');
const readNames =
  sql(`SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'telemetry'::regclass`);
/** Keep this short: a queued lock blocks everyone behind it. */
const limitLockWait = sql(`SET LOCAL lock_timeout = '500ms'`);
const lockPartitions = sql(`SELECT pg_advisory_xact_lock(${LOCK})`);
// Taken before reading the table, so that no sample is inserted in between.
const lockRest = sql('LOCK TABLE telemetry_rest IN ACCESS EXCLUSIVE MODE');
const cameBefore = sql(`SELECT count(*) AS samples FROM (
  SELECT FROM telemetry_rest WHERE recorded_at >= $1 AND recorded_at < $2 LIMIT $3) AS came`);

/** Holds samples recorded from `from` on and before `to`. If `from` is null, there is no lower bound. */
interface Partition {
  table: string;
  from: number | null;
  to: number;
}

export interface Week extends Partition {
  from: number;
}

/** Called after each attempt to create partitions ahead, with the error or `null`. */
export type OnPartitions = (error: unknown) => void;

/** Creates partitions ahead, by the database's clock: once before it resolves, then every hour until stopped. */
export async function startPartitions(access: Access, onTried: OnPartitions) {
  // A failure is retried every hour, long before the partition is needed. Until then telemetry_rest takes its samples.
  const make = () =>
    makePartitions(access).then(
      () => onTried(null),
      (error: unknown) => onTried(error),
    );
  let making = make();
  await making;
  const timer = setInterval(() => {
    making = make();
  }, EVERY_MS).unref();
  return {
    async stop() {
      clearInterval(timer);
      await making;
    },
  };
}

/** Creates the missing partitions up to two weeks ahead. */
export async function makePartitions(access: Access): Promise<void> {
  await access.write(async (tx) => {
    await beginChange(tx);
    const missing = missingFrom(await weeksOf(tx), await nowOf(access, tx));
    if (missing.length === 0) return;
    await tx.run(lockRest);
    for (const partition of missing) await make(tx, partition);
  });
}

/**
 * Runs `first` and drops the week, in one transaction that locks out inserts into the week. Rejects if a long query on
 * telemetry keeps its locks.
 */
export async function dropWeek(
  access: Access,
  { table }: Week,
  first: (tx: Queries) => Promise<void>,
): Promise<void> {
  await access.write(async (tx) => {
    await beginChange(tx);
    const weeks = await weeksOf(tx);
    if (!weeks.some((week) => week.table === table)) return;
    await tx.run(sql(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`));
    await first(tx);
    await tx.run(sql(`DROP TABLE ${table}`));
  });
}

/** The existing weeks, oldest first. */
export async function weeksOf(queries: Queries): Promise<Week[]> {
  const rows = await queries.rows<{ name: string }>(readNames);
  return rows
    .flatMap(({ name }) => {
      const [, ...date] = /^telemetry_(\d{4})(\d\d)(\d\d)$/.exec(name) ?? [];
      const [year = 0, month = 0, day = 0] = date.map(Number);
      return date.length === 0 ? [] : [weekOf(Date.UTC(year, month - 1, day))];
    })
    .sort((a, b) => a.from - b.from);
}

/** The week that contains the instant. */
export function weekOf(instant: number): Week {
  const from = Math.floor((instant - A_MONDAY) / WEEK_MS) * WEEK_MS + A_MONDAY;
  const monday = new Date(from).toISOString().slice(0, 10).replaceAll('-', '');
  return { table: `telemetry_${monday}`, from, to: from + WEEK_MS };
}

async function nowOf(access: Access, tx: Queries): Promise<number> {
  const [row] = await tx.rows<{ now: number }>(readNow, [access.instant()]);
  if (row === undefined) throw new Error('The database returned no time');
  return row.now;
}

function missingFrom(weeks: readonly Week[], now: number): Partition[] {
  const running = weekOf(now).from;
  const newest = weeks.at(-1);
  const first = newest?.to ?? running - WEEK_MS;
  const missing: Partition[] = [];
  if (newest === undefined) missing.push({ table: 'telemetry_past', from: null, to: first });
  for (let from = first; from <= running + AHEAD_MS; from += WEEK_MS) missing.push(weekOf(from));
  return missing;
}

/**
 * Creates a table and attaches it, which does not lock the partitions in use; `CREATE TABLE … PARTITION OF` would
 * lock all of them. Samples of that time in telemetry_rest are moved first.
 */
async function make(tx: Queries, { table, from, to }: Partition): Promise<void> {
  const range = [from ?? Number.MIN_SAFE_INTEGER, to];
  const [came] = await tx.rows<{ samples: number }>(cameBefore, [...range, MOVED_AT_MOST + 1]);
  const samples = came?.samples ?? 0;
  if (samples > MOVED_AT_MOST) return;
  await tx.run(sql(`CREATE TABLE ${table} (LIKE telemetry INCLUDING ALL)`));
  if (samples > 0) await tx.run(move(table), range);
  const bounds = `FROM (${from ?? 'MINVALUE'}) TO (${to})`;
  await tx.run(sql(`ALTER TABLE telemetry ATTACH PARTITION ${table} FOR VALUES ${bounds}`));
}

const move = (table: string) =>
  sql(`WITH moved AS (
    DELETE FROM telemetry_rest WHERE recorded_at >= $1 AND recorded_at < $2 RETURNING *)
  INSERT INTO ${table} SELECT * FROM moved`);

/** Serializes changes of partitions among instances. Call it inside a write. */
async function beginChange(tx: Queries): Promise<void> {
  await tx.run(lockPartitions);
  await tx.run(limitLockWait);
}
