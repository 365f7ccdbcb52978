// Stores telemetry samples with everything derived from them, and lists samples and roll-ups.

import { batching } from '../../../base/async/batching.ts';
import type { NewSamples, SampleRecord, TelemetryStore } from '../../ports/telemetry.ts';
import { samplesBytes } from '../../rules/storage.ts';
import type { Tx } from '../db/database.ts';
import { raw, type Sql, sql } from '../db/sql.ts';
import { type CountedIn, countSamples } from '../stats.ts';
import type { StorageUsage } from '../storage-usage.ts';
import { SHOWN_COLUMNS, type ShownRow, shownAfter } from '../telemetry/readings.ts';
import { isSameSample, SAMPLE_COLUMNS } from '../telemetry.ts';
import type { PostgresDb } from './engine/database.ts';
import { addToRollups } from './roll-ups.ts';

/** While the database writes one group, this process prepares the next. */
const GROUPS_AT_ONCE = 2;
/** Limits of a group. It is small, because its robots stay locked and its computations hold the event loop. */
const REQUESTS_AT_ONCE = 64;
const SAMPLES_AT_ONCE = 2_000;
const CHARACTERS_AT_ONCE = 1_000_000;

/** Groups concurrent requests into one transaction. */
export function telemetryStore({ write }: PostgresDb, usage: StorageUsage) {
  const recordSamples = batching({
    atOnce: GROUPS_AT_ONCE,
    keyOf: ({ robotId }: NewSamples) => robotId,
    startGroup: sampleGroup,
    async doTogether(requests) {
      const batches = await write((tx) => recordGroup(tx, requests));
      for (const { robot, samples, conflict } of batches) {
        if (conflict === null) usage.add(robot.wallet, samplesBytes(samples));
      }
      const found = new Map(batches.map((batch) => [batch.request, batch]));
      return (request: NewSamples) => outcomeOf(found.get(request));
    },
  });

  return { recordSamples } satisfies Partial<TelemetryStore>;
}

function sampleGroup(): (request: NewSamples) => boolean {
  const robots = new Set<string>();
  let samples = 0;
  let characters = 0;
  return (request) => {
    const more = request.samples.reduce((sum, { metrics }) => sum + metrics.length, 0);
    const hasRoom =
      robots.size < REQUESTS_AT_ONCE &&
      !robots.has(request.robotId) &&
      samples + request.samples.length <= SAMPLES_AT_ONCE &&
      characters + more <= CHARACTERS_AT_ONCE;
    if (!hasRoom && robots.size > 0) return false;
    robots.add(request.robotId);
    samples += request.samples.length;
    characters += more;
    return true;
  };
}

type Outcome = Awaited<ReturnType<TelemetryStore['recordSamples']>>;

interface RobotRow extends CountedIn, ShownRow {
  id: string;
  key_hash: string | null;
}

/** A request of an existing robot, and its result. */
interface Batch {
  robot: RobotRow;
  request: NewSamples;
  /** The samples without duplicates: within the request, and later of stored ones. */
  samples: readonly SampleRecord[];
  /** The index of the first sample whose id is known with other content; `null` if there is none. */
  conflict: number | null;
}

/**
 * Stores samples and everything derived from them, and returns the requests of existing robots. Call it inside a write,
 * with at most one request per robot. The robots' rows stay locked, so other changes of their samples and roll-ups wait.
 */
async function recordGroup(tx: Tx, requests: readonly NewSamples[]): Promise<Batch[]> {
  const batches = await store(tx, await batchesOf(tx, requests));
  const recorded = batches.filter(({ conflict }) => conflict === null);
  const heard = recorded.map(({ robot, request: { robotId, now }, samples }) => ({
    robot,
    robotId,
    now,
    samples,
  }));
  await addToRollups(tx, heard);
  await showNewest(tx, heard);
  await countSamples(
    tx,
    recorded.map(({ robot, samples }) => ({ ...robot, samples })),
  );
  return batches;
}

function outcomeOf(batch: Batch | undefined): Outcome {
  if (batch === undefined) return { outcome: 'key_revoked' };
  if (batch.conflict === null) return { outcome: 'recorded' };
  return { outcome: 'id_conflict', index: batch.conflict };
}

/** Locks the robots by id. Drops requests whose robot or key is gone. */
async function batchesOf(tx: Tx, requests: readonly NewSamples[]): Promise<Batch[]> {
  const ids = requests.map(({ robotId }) => robotId);
  const rows = await tx.all<RobotRow>(sql`SELECT id, wallet, fleet_id, key_hash, ${SHOWN_COLUMNS}
    FROM robots WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR NO KEY UPDATE`);
  const robots = new Map(rows.map((row) => [row.id, row]));
  return requests.flatMap((request) => {
    const robot = robots.get(request.robotId);
    if (robot === undefined || robot.key_hash !== request.keyHash) return [];
    return [toBatch(robot, request)];
  });
}

function toBatch(robot: RobotRow, request: NewSamples): Batch {
  const { samples } = request;
  const ids = new Set(samples.map(({ id }) => id));
  if (ids.size === samples.length) return { robot, request, samples, conflict: null };
  const firsts = new Map<string, SampleRecord>();
  let conflict: number | null = null;
  for (const [place, sample] of samples.entries()) {
    const key = keyOf(request.robotId, sample);
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, sample);
    else if (conflict === null && !isSameSample(first, sample)) conflict = place;
  }
  return { robot, request, samples: [...firsts.values()], conflict };
}

function keyOf(robotId: string, { recordedAt, id }: SampleRecord): string {
  return `${robotId} ${recordedAt} ${id}`;
}

/** Stores the samples. Of a request with a conflict, it stores nothing. */
async function store(tx: Tx, batches: readonly Batch[]): Promise<Batch[]> {
  const old = await insert(tx, batches);
  const compared = batches.map((batch) => withoutOld(batch, old));
  const undone = compared.filter(({ conflict }) => conflict !== null);
  if (undone.length > 0) {
    await tx.run(sql`DELETE FROM telemetry USING ${keyRows(undone)} AS undone (robot_id, recorded_at, id)
      WHERE telemetry.robot_id = undone.robot_id AND telemetry.recorded_at = undone.recorded_at
        AND telemetry.id = undone.id`);
  }
  return compared;
}

/** Inserts new samples, and returns the stored ones by key. */
async function insert(
  tx: Tx,
  batches: readonly Batch[],
): Promise<ReadonlyMap<string, SampleRecord>> {
  const samples = batches.flatMap((batch) => batch.samples);
  if (samples.length === 0) return new Map();
  const { robotIds, times, ids } = keysOf(batches);
  const inserted = await tx.run(sql`INSERT INTO telemetry
      (robot_id, recorded_at, id, battery_pct, state, metrics)
    SELECT * FROM unnest(${robotIds}::uuid[], ${times}::bigint[], ${ids}::uuid[],
      ${samples.map(({ batteryPct }) => batteryPct)}::double precision[],
      ${samples.map(({ state }) => state)}::text[], ${samples.map(({ metrics }) => metrics)}::text[])
    ON CONFLICT DO NOTHING`);
  if (inserted === samples.length) return new Map();
  // The given samples that this transaction did not insert.
  type Old = SampleRecord & { robotId: string };
  const old = await tx.all<Old>(sql`SELECT robot_id AS "robotId", ${raw(SAMPLE_COLUMNS)}
    FROM ${keyRows(batches)} AS given (robot_id, recorded_at, id)
    JOIN telemetry USING (robot_id, recorded_at, id)
    WHERE telemetry.xmin <> pg_current_xact_id()::xid`);
  return new Map(old.map((sample) => [keyOf(sample.robotId, sample), sample]));
}

function keysOf(batches: readonly Batch[]) {
  const samples = batches.flatMap((batch) => batch.samples);
  return {
    robotIds: batches.flatMap(({ robot, samples: { length } }) =>
      Array<string>(length).fill(robot.id),
    ),
    times: samples.map(({ recordedAt }) => recordedAt),
    ids: samples.map(({ id }) => id),
  };
}

function keyRows(batches: readonly Batch[]): Sql {
  const { robotIds, times, ids } = keysOf(batches);
  return sql`unnest(${robotIds}::uuid[], ${times}::bigint[], ${ids}::uuid[])`;
}

function withoutOld(batch: Batch, old: ReadonlyMap<string, SampleRecord>): Batch {
  if (old.size === 0) return batch;
  const { robot, request } = batch;
  const storedAs = (sample: SampleRecord) => old.get(keyOf(robot.id, sample));
  const differs = (sample: SampleRecord) => {
    const stored = storedAs(sample);
    return stored !== undefined && !isSameSample(stored, sample);
  };
  const samples = batch.samples.filter((sample) => storedAs(sample) === undefined);
  const conflict = batch.samples.find(differs);
  if (conflict === undefined) return { ...batch, samples };
  const place = request.samples.indexOf(conflict);
  return { ...batch, samples, conflict: Math.min(place, batch.conflict ?? place) };
}

/** Updates the last-seen time, battery and state of robots from new samples. Each robot is in it once. */
async function showNewest(
  tx: Tx,
  robots: readonly (Omit<NewSamples, 'keyHash'> & { robot: ShownRow })[],
): Promise<void> {
  const rows = robots.map(({ robotId, robot, samples, now }) => ({
    robot_id: robotId,
    at: now,
    ...shownAfter(robot, samples, now),
  }));
  await tx.run(sql`UPDATE robots SET last_seen_at = greatest(last_seen_at, heard.at),
      battery_pct = heard.battery_pct, battery_at = heard.battery_at,
      battery_since = heard.battery_since, state = heard.state, state_at = heard.state_at,
      state_since = heard.state_since, sample_lag = heard.sample_lag,
      clock_behind = heard.clock_behind
    FROM json_to_recordset(${JSON.stringify(rows)}) AS heard (robot_id uuid, at bigint,
      battery_pct double precision, battery_at bigint, battery_since bigint, state text,
      state_at bigint, state_since bigint, sample_lag bigint, clock_behind bigint)
    WHERE robots.id = heard.robot_id`);
}
