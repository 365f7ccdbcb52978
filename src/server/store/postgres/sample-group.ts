import type { NewSamples, SampleRecord, TelemetryStore } from '../../core/telemetry-store.ts';
import { countSamples, hourOf, type SampleCount } from './activity-hours.ts';
import type { Queries } from './connections.ts';
import { showNewest } from './robot-readings.ts';
import { addToRollups, type Reading } from './roll-ups.ts';
import { sql } from './sql.ts';

/** Samples of a robot, to be stored all or none. */
export interface SampleRequest extends NewSamples {
  /** What each sample says. */
  readings: readonly Reading[];
}

type Outcome = Awaited<ReturnType<TelemetryStore['recordSamples']>>;

interface RobotRow {
  id: string;
  wallet: string;
  fleet_id: string | null;
  key_hash: string | null;
}

export interface SampleRow {
  robot_id: string;
  recorded_at: number;
  id: string;
  battery_pct: number | null;
  state: string | null;
  metrics: string;
}

type KeyRow = Pick<SampleRow, 'robot_id' | 'recorded_at' | 'id'>;

/** A request of a robot that is there, and what the database said to it. */
interface Batch {
  robot: RobotRow;
  request: SampleRequest;
  /** The place in the request of each sample, where it comes first, by `keyOf`. */
  places: ReadonlyMap<string, number>;
  /** Where the first sample is that has other content than one before it, in the database or the request. */
  conflict: number | null;
}

const lockRobots = sql(`SELECT id, wallet, fleet_id, key_hash FROM robots WHERE id = ANY($1::uuid[])
  ORDER BY id FOR NO KEY UPDATE`);
// EXCEPT, because it hashes or sorts; a join could compare all with all, as a plan knows no array's length.
const insertAnswerOld = sql(`WITH inserted AS (
    INSERT INTO telemetry (robot_id, recorded_at, id, battery_pct, state, metrics)
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::double precision[], $5::text[],
      $6::text[])
    ON CONFLICT DO NOTHING RETURNING robot_id, recorded_at, id)
  SELECT robot_id, recorded_at, id
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS given (robot_id, recorded_at, id)
  EXCEPT SELECT robot_id, recorded_at, id FROM inserted`);
const readSamples = sql(`SELECT robot_id, recorded_at, id, battery_pct, state, metrics
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS asked (robot_id, recorded_at, id)
  JOIN telemetry USING (robot_id, recorded_at, id)`);
const remove = sql(`DELETE FROM telemetry
  USING unnest($1::uuid[], $2::bigint[], $3::uuid[]) AS undone (robot_id, recorded_at, id)
  WHERE telemetry.robot_id = undone.robot_id AND telemetry.recorded_at = undone.recorded_at
    AND telemetry.id = undone.id`);

/**
 * Stores samples with all that follows from them, and answers how each request went. Inside a write; at most one
 * request of each robot, whose row stays locked: what changes its samples and roll-ups waits for it.
 */
export async function recordGroup(
  tx: Queries,
  requests: readonly SampleRequest[],
): Promise<(request: SampleRequest) => Outcome> {
  const batches = await store(tx, await batchesOf(tx, requests));
  const recorded = batches.filter(({ conflict }) => conflict === null);
  const found = new Map(batches.map((batch) => [batch.request, batch]));
  const heard = recorded.map(({ request: { robotId, samples, readings, now }, places }) => ({
    robotId,
    now,
    samples: chosen(samples, places),
    readings: chosen(readings, places),
  }));
  await addToRollups(
    tx,
    heard.map(({ robotId, readings }) => ({ robotId, samples: readings })),
  );
  await showNewest(tx, heard);
  await countSamples(tx, recorded.flatMap(countsOf));
  return (request) => outcomeOf(found.get(request));
}

function outcomeOf(batch: Batch | undefined): Outcome {
  if (batch === undefined) return { outcome: 'robot_gone' };
  if (batch.conflict === null) return { outcome: 'recorded' };
  return { outcome: 'id_conflict', index: batch.conflict };
}

/** Without those of robots and keys that ended. */
async function batchesOf(tx: Queries, requests: readonly SampleRequest[]): Promise<Batch[]> {
  const rows = await tx.rows<RobotRow>(lockRobots, [requests.map(({ robotId }) => robotId)]);
  const robots = new Map(rows.map((row) => [row.id, row]));
  return requests.flatMap((request) => {
    const robot = robots.get(request.robotId);
    if (robot === undefined || robot.key_hash !== request.keyHash) return [];
    return [toBatch(robot, request)];
  });
}

function toBatch(robot: RobotRow, request: SampleRequest): Batch {
  const places = new Map<string, number>();
  let conflict: number | null = null;
  for (const [place, sample] of request.samples.entries()) {
    const key = keyOf(request.robotId, sample.recordedAt, sample.id);
    const first = request.samples[places.get(key) ?? place];
    if (first === sample) places.set(key, place);
    else if (conflict === null && !isSame(first, sample)) conflict = place;
  }
  return { robot, request, places, conflict };
}

function keyOf(robotId: string, recordedAt: number, id: string): string {
  return `${robotId} ${recordedAt} ${id}`;
}

function isSame(a: SampleRecord | undefined, b: SampleRecord): boolean {
  return a?.batteryPct === b.batteryPct && a.state === b.state && a.metrics === b.metrics;
}

/** Answers the batches with the places of their new samples; nothing is stored of one with a conflict. */
async function store(tx: Queries, batches: readonly Batch[]): Promise<Batch[]> {
  const old = await insert(tx, batches);
  const compared = batches.map((batch) => withoutOld(batch, old));
  const refused = compared.filter(({ conflict }) => conflict !== null);
  const undone = refused.flatMap(({ request, places }) => {
    const samples = chosen(request.samples, places);
    return samples.map((sample) => ({ robotId: request.robotId, ...sample }));
  });
  if (undone.length > 0) await tx.run(remove, keysOf(undone));
  return compared;
}

interface RobotSample extends SampleRecord {
  robotId: string;
}

/** Answers the samples that were there before. */
async function insert(
  tx: Queries,
  batches: readonly Batch[],
): Promise<ReadonlyMap<string, SampleRecord>> {
  const given = batches.flatMap(({ request, places }) =>
    chosen(request.samples, places).map((sample) => ({ robotId: request.robotId, ...sample })),
  );
  if (given.length === 0) return new Map();
  const keys = await tx.rows<KeyRow>(insertAnswerOld, [
    ...keysOf(given),
    given.map(({ batteryPct }) => batteryPct),
    given.map(({ state }) => state),
    given.map(({ metrics }) => metrics),
  ]);
  if (keys.length === 0) return new Map();
  const old = keys.map((row) => ({ ...row, robotId: row.robot_id, recordedAt: row.recorded_at }));
  const rows = await tx.rows<SampleRow>(readSamples, keysOf(old));
  return new Map(rows.map((row) => [keyOf(row.robot_id, row.recorded_at, row.id), toSample(row)]));
}

function keysOf(samples: readonly Pick<RobotSample, 'robotId' | 'recordedAt' | 'id'>[]) {
  return [
    samples.map(({ robotId }) => robotId),
    samples.map(({ recordedAt }) => recordedAt),
    samples.map(({ id }) => id),
  ];
}

function withoutOld(batch: Batch, old: ReadonlyMap<string, SampleRecord>): Batch {
  if (old.size === 0) return batch;
  const places = new Map(batch.places);
  const conflicts = batch.conflict === null ? [] : [batch.conflict];
  for (const [key, place] of batch.places) {
    const stored = old.get(key);
    const sample = batch.request.samples[place];
    if (stored === undefined || sample === undefined) continue;
    places.delete(key);
    if (!isSame(stored, sample)) conflicts.push(place);
  }
  return { ...batch, places, conflict: conflicts.length === 0 ? null : Math.min(...conflicts) };
}

function chosen<Item>(items: readonly Item[], places: ReadonlyMap<string, number>): Item[] {
  return [...places.values()].flatMap((place) => items[place] ?? []);
}

function countsOf({ robot, request, places }: Batch): SampleCount[] {
  const hours = new Map<number, number>();
  for (const { recordedAt } of chosen(request.samples, places)) {
    const hour = hourOf(recordedAt);
    hours.set(hour, (hours.get(hour) ?? 0) + 1);
  }
  const { wallet, fleet_id: fleetId } = robot;
  return [...hours].map(([at, samples]) => ({ wallet, fleetId, at, samples }));
}

export function toSample(row: Omit<SampleRow, 'robot_id'>): SampleRecord {
  return {
    id: row.id,
    recordedAt: row.recorded_at,
    batteryPct: row.battery_pct,
    state: row.state,
    metrics: row.metrics,
  };
}
