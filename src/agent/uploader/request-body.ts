import { canonicalJson } from '../../proof/canonical-json.ts';
import type { JsonObject } from '../../proof/json-value.ts';
import { limits } from '../../protocol/limits.ts';
import type { Body } from '../../protocol/routes.ts';
import type { NewSample } from '../../protocol/telemetry.ts';
import { formatTimestamp, parseTimestamp } from '../../protocol/timestamp.ts';
import type { SpoolRecord } from '../spool/records.ts';
import { type CorrectedTime, givenTime, timeOf } from './corrected-time.ts';

/*
 * What goes to the service. Each body follows from what is durable alone, the record and the epoch of its boot,
 * so that a repeated request has the same bytes.
 */

/** `occurred_at` says when the robot claimed, for the service may hear of it much later. */
export function claimBody(record: SpoolRecord, epochMs: number | null): Body<'createTask'> {
  const content: Omit<Body<'createTask'>, 'id'> = JSON.parse(record.body);
  return {
    ...content,
    id: record.id,
    occurred_at: occurredAt(content.occurred_at, record, epochMs),
  };
}

export function eventBody(record: SpoolRecord, epochMs: number | null): Body<'createEvent'> {
  const content: Omit<Body<'createEvent'>, 'id'> = JSON.parse(record.body);
  return {
    ...content,
    id: record.id,
    occurred_at: occurredAt(content.occurred_at, record, epochMs),
  };
}

export function sampleBody(record: SpoolRecord, epochMs: number | null): NewSample {
  const content: NewSample = JSON.parse(record.body);
  const time = givenOrOwn(content.recorded_at, record, epochMs);
  const recorded_at =
    content.recorded_at !== undefined && !time.corrected
      ? content.recorded_at
      : formatTimestamp(time.ms);
  const sample = { ...content, id: record.id, recorded_at };
  return time.corrected ? withNote(sample, record) : sample;
}

function occurredAt(
  given: string | undefined,
  record: SpoolRecord,
  epochMs: number | null,
): string {
  const time = givenOrOwn(given, record, epochMs);
  return given !== undefined && !time.corrected ? given : formatTimestamp(time.ms);
}

function givenOrOwn(
  given: string | undefined,
  record: SpoolRecord,
  epochMs: number | null,
): CorrectedTime {
  const time = timeOf(record, epochMs);
  const givenMs = given === undefined ? null : parseTimestamp(given);
  return givenMs === null ? time : givenTime(givenMs, record, time);
}

/** What the clocks said, where the time is a corrected one and the metrics have room to say so. */
function withNote(sample: NewSample, { wallMs, boot, monoMs }: SpoolRecord): NewSample {
  const note: JsonObject = {
    wall: formatTimestamp(wallMs),
    boot: boot.toString(16).padStart(12, '0'),
    monotonic_ms: monoMs,
  };
  const metrics = { ...sample.metrics, svc_agent_clock: note };
  const fits = Buffer.byteLength(canonicalJson(metrics)) <= limits.metricsBytes;
  return fits ? { ...sample, metrics } : sample;
}
