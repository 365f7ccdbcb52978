// Records samples and reads them, raw or as series.

import { runYielding, startYielding } from '../../base/async/cooperative-yield.ts';
import { newId } from '../../base/new-id.ts';
import { SvcError } from '../../base/svc-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { Answer, Body, Query } from '../../protocol/routes.ts';
import { placesOf, samplesOf, samplesProblem } from '../../protocol/samples.ts';
import type { NewSample, Sample, Series, SeriesPoint } from '../../protocol/telemetry.ts';
import {
  firstInstant,
  formatTimestamp,
  lastInstant,
  parseTimestamp,
} from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { RobotCaller } from '../ports/robots.ts';
import {
  type RobotOfAccount,
  type Rollup,
  type SampleRecord,
  type Spread,
  stepMs,
  type TimeRange,
} from '../ports/telemetry.ts';
import { samplesBytes } from '../rules/storage.ts';
import { type Deps, found, keyRevoked, storing } from './deps.ts';
import { instantOf, JsonText, pageOf, periodOf, readCursor, writtenPage } from './paging.ts';
import { canonicalDocument } from './tasks.ts';

type TelemetryQuery = Query<'readTelemetry'>;
type SeriesQuery = TelemetryQuery & { resolution: Series['resolution'] };
type Receipt = JsonText<Answer<'recordSamples'>['body']>;

/** Default length of a series without `from`. */
const usualMs = { minute: stepMs.hour, hour: stepMs.day, day: 31 * stepMs.day };

/** Number of intervals read at once, so that other requests are served in between. */
const READ_AT_ONCE = 25;

/**
 * Stores all samples or none. Samples older than the retention are acknowledged but not stored. Repeating a sample with
 * its id and content returns it again. Throws `invalid_sample`, `id_conflict`, and `invalid_api_key` if the key ended in
 * the meantime.
 */
export function recordSamples(deps: Deps, robot: RobotCaller, body: Body<'recordSamples'>) {
  const now = deps.clock.now();
  const { isImplausible = false } = deps.clock;
  const problem = samplesProblem(body);
  if (problem !== null) throw wireError(problem.code, problem.message);
  const samples = samplesOf(body);
  const placeOf = placesOf(body);
  // Not an async function: that would keep the request body alive until the commit, and every garbage collection would
  // copy it.
  return runYielding(acceptAll(samples, placeOf, { now, isImplausible })).then((records) =>
    storeSamples(deps, robot, { records, placeOf, now }),
  );
}

type PlaceOf = (index: number) => string;

type Time = { now: number; isImplausible: boolean };

/** One page of a robot's samples, newest first. Throws `not_found` and `invalid_request`. */
export async function listSamples({ store }: Deps, robot: RobotOfAccount, query: TelemetryQuery) {
  const range = periodOf(query);
  const { limit, cursor } = query;
  const before = readCursor(cursor, 'recordedAt');
  const find = async (count: number) =>
    found('robot', await store.listSamples(robot, range, { limit: count, before }));
  const cursorOf = ({ recordedAt, id }: SampleRecord) => `${recordedAt}_${id}`;
  return writtenPage(await pageOf(limit, find, { cursorOf, view: viewSample }));
}

/**
 * A robot's samples by minute, hour or day, read only from roll-ups. Throws `not_found`, and `invalid_request` for a
 * range that is empty or too long.
 */
export async function readSeries(
  deps: Deps,
  robot: RobotOfAccount,
  query: SeriesQuery,
): Promise<Series> {
  const { resolution } = query;
  const { from, to } = seriesRange(query, deps.clock.now());
  const points: SeriesPoint[] = [];
  const step = startYielding();
  let next = from;
  for (;;) {
    const range = { from: next, to };
    const read = deps.store.listRollups(robot, resolution, range, READ_AT_ONCE);
    const rollups = found('robot', await read);
    for (const rollup of rollups) points.push(viewPoint(rollup));
    const last = rollups.at(-1);
    if (rollups.length < READ_AT_ONCE || last === undefined) break;
    next = last.at + 1;
    await step();
  }
  return { resolution, from: formatTimestamp(from), to: formatTimestamp(to), points };
}

async function storeSamples(
  deps: Deps,
  robot: RobotCaller,
  { records, placeOf, now }: { records: SampleRecord[]; placeOf: PlaceOf; now: number },
): Promise<Receipt> {
  const { store, settings } = deps;
  const { id: robotId, keyHash, wallet } = robot;
  const retention = settings.telemetryRetentionMs;
  const kept = records.filter(
    ({ recordedAt }) => retention === null || recordedAt >= now - retention,
  );
  const result = await storing(deps, robot, samplesBytes(kept), () =>
    store.recordSamples({ robotId, keyHash, samples: kept, now }),
  );
  switch (result.outcome) {
    case 'recorded':
      store.changed(wallet, { robot: robotId });
      return writtenReceipt(records);
    case 'id_conflict': {
      const known = kept[result.index];
      const place = known === undefined ? '' : placeOf(records.indexOf(known));
      const message = `${place}id is already used with other content. Nothing was stored.`;
      throw wireError('id_conflict', message);
    }
    case 'key_revoked':
      throw keyRevoked();
  }
}

function writtenReceipt(records: SampleRecord[]): Receipt {
  const samples = records.map((record) => viewSample(record).text).join();
  return new JsonText(`{"accepted":${records.length},"samples":[${samples}]}`);
}

function* acceptAll(samples: NewSample[], placeOf: PlaceOf, time: Time) {
  const records: SampleRecord[] = [];
  for (const [index, sample] of samples.entries()) {
    records.push(accept(sample, placeOf(index), time));
    yield;
  }
  return records;
}

function accept(sample: NewSample, place: string, { now, isImplausible }: Time): SampleRecord {
  const recordedAt = sample.recorded_at === undefined ? now : parseTimestamp(sample.recorded_at);
  if (recordedAt === null) {
    throw wireError('invalid_sample', `${place}recorded_at must be an ISO 8601 date and time.`);
  }
  if (recordedAt > now + limits.sampleAheadMs) {
    // The sample may be right, so the robot must keep it.
    if (isImplausible) {
      const message = `${place}recorded_at cannot be checked, because the clock of the service is implausible. Nothing was stored.`;
      throw wireError('storage_unavailable', message);
    }
    const message = `${place}recorded_at must be at most 24 hours in the future.`;
    throw wireError('invalid_sample', message);
  }
  return {
    id: sample.id ?? newId(),
    recordedAt,
    batteryPct: sample.battery_pct ?? null,
    state: sample.state ?? null,
    metrics: metricsText(`${place}metrics`, sample.metrics ?? {}),
  };
}

function metricsText(place: string, metrics: object): string {
  try {
    return canonicalDocument(place, metrics, limits.metricsBytes);
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    throw wireError('invalid_sample', error.message);
  }
}

/** Extends the range to whole intervals, within the limits of timestamps. It lasts `usual` ms without `from`. */
export function seriesRange(
  query: SeriesQuery,
  now: number,
  usual: number = usualMs[query.resolution],
): TimeRange {
  const { resolution } = query;
  if (query.limit !== undefined || query.cursor !== undefined) {
    const message = 'A series has no pages: send resolution without limit and cursor.';
    throw wireError('invalid_request', message);
  }
  const to = instantOf(query.to) ?? now + 1;
  const range = periodOf(query, { from: to - usual, to });
  if (range.to - range.from > limits.seriesMs[resolution]) {
    const hours = limits.seriesMs[resolution] / stepMs.hour;
    const message = `By ${resolution}, from and to must be at most ${hours} hours apart.`;
    throw wireError('invalid_request', message);
  }
  const step = stepMs[resolution];
  return {
    from: Math.max(Math.floor(range.from / step) * step, firstInstant),
    to: Math.min(Math.ceil(range.to / step) * step, lastInstant),
  };
}

function viewSample(sample: SampleRecord): JsonText<Sample> {
  // Faster than an object's text. An id is a UUID, the battery a finite number or null, and `metrics` is JSON.
  const { id, recordedAt, batteryPct, state, metrics } = sample;
  return new JsonText(
    `{"id":"${id}","recorded_at":"${formatTimestamp(recordedAt)}","battery_pct":${batteryPct},` +
      `"state":${JSON.stringify(state)},"metrics":${metrics}}`,
  );
}

/** `fromEntries` creates an own property even for `__proto__`. */
function viewPoint({ at, summary }: Rollup): SeriesPoint {
  const { samples, battery, states, metrics } = summary;
  return {
    at: formatTimestamp(at),
    samples,
    battery_pct: battery === null ? null : viewSpread(battery),
    states: Object.fromEntries(states),
    metrics: Object.fromEntries([...metrics].map(([name, spread]) => [name, viewSpread(spread)])),
  };
}

/** Rounding could move the mean of equal numbers away from them. */
function viewSpread([count, min, max, sum]: Spread) {
  return { min, avg: Math.min(max, Math.max(min, sum / count)), max };
}
