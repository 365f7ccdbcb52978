import type { Queries } from './connections.ts';
import { sql } from './sql.ts';
import type { Access } from './transactions.ts';

/*
 * A partition of telemetry holds the samples recorded in one week (UTC), from Monday on. Weeks, because a query of all
 * times locks and plans every partition: a year has 52 of them and not 365; retention still drops most of what a busy
 * service records in one go. `telemetry_past` holds what is older than the first week, `telemetry_rest` the rest, which
 * is next to nothing: the service takes no sample from the future beyond a day, and partitions are made for longer.
 */

const DAY_MS = 24 * 60 * 60_000;
const WEEK_MS = 7 * DAY_MS;
/** 1970-01-05. */
const A_MONDAY = 4 * DAY_MS;
const AHEAD_MS = 2 * WEEK_MS;
const EVERY_MS = 60 * 60_000;

/** A week of which more samples came before its partition was made is left where they are. */
const MOVED_AT_MOST = 10_000;

/** Of those who make and drop partitions; any number that nobody else takes. */
const LOCK = 7_383_920_118;

const readNow = sql('SELECT instant_or($1) AS now');
const readNames =
  sql(`SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'telemetry'::regclass`);
/** Others wait behind who waits for a table, so briefly. */
const waitBriefly = sql(`SET LOCAL lock_timeout = '500ms'`);
const takeTurn = sql(`SELECT pg_advisory_xact_lock(${LOCK})`);
// Before anything is looked up in it, so that nothing comes in between.
const lockRest = sql('LOCK TABLE telemetry_rest IN ACCESS EXCLUSIVE MODE');
const cameBefore = sql(`SELECT count(*) AS samples FROM (
  SELECT FROM telemetry_rest WHERE recorded_at >= $1 AND recorded_at < $2 LIMIT $3) AS came`);

/** Of samples recorded at `from` or later, of all times where it is null, and before `to`. */
interface Partition {
  table: string;
  from: number | null;
  to: number;
}

export interface Week extends Partition {
  from: number;
}

/** Called after each try to make partitions ahead: what it failed with, or null. */
export type OnPartitions = (fault: unknown) => void;

/** Makes partitions ahead, by the database's clock: before it resolves, and from then on until stopped. */
export async function startPartitions(
  access: Access,
  onTried: OnPartitions,
): Promise<{ stop(): Promise<void> }> {
  // What fails is tried again long before it is needed; until then telemetry_rest takes it all.
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

/** Makes the weeks from the newest one on to two weeks ahead; harmless where they are there. */
export async function makePartitions(access: Access): Promise<void> {
  await access.write(async (tx) => {
    await beginChange(tx);
    const missing = missingFrom(await weeksOf(tx), await nowOf(access, tx));
    if (missing.length === 0) return;
    await tx.run(lockRest);
    for (const partition of missing) await make(tx, partition);
  });
}

async function nowOf(access: Access, tx: Queries): Promise<number> {
  const row = await tx.first<{ now: number }>(readNow, [access.instant()]);
  if (row === undefined) throw new Error('The database has no clock');
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

/** In the order of time. */
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

/** The week that an instant is in. */
export function weekOf(instant: number): Week {
  const from = Math.floor((instant - A_MONDAY) / WEEK_MS) * WEEK_MS + A_MONDAY;
  const monday = new Date(from).toISOString().slice(0, 10).replaceAll('-', '');
  return { table: `telemetry_${monday}`, from, to: from + WEEK_MS };
}

/**
 * Attaches a table, which does not lock the partitions in use; `CREATE TABLE … PARTITION OF` would lock them all. What
 * telemetry_rest has of that time is moved first.
 */
async function make(tx: Queries, { table, from, to }: Partition): Promise<void> {
  const range = [from ?? Number.MIN_SAFE_INTEGER, to];
  const came = await tx.first<{ samples: number }>(cameBefore, [...range, MOVED_AT_MOST + 1]);
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

/**
 * Drops the week with its samples, after `first` in the same transaction, which nobody adds samples of that week to.
 * Rejects where somebody reads telemetry for long.
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

/** One instance at a time. Inside a write. */
async function beginChange(tx: Queries): Promise<void> {
  await tx.run(takeTurn);
  await tx.run(waitBriefly);
}
