// Samples and ops events of the local API.
import { v7 as newId } from 'uuid';
import { canonicalJson } from '../../proof/canonical-json.ts';
import { tooLarge } from '../../protocol/body-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { Body } from '../../protocol/routes.ts';
import { placesOf, samplesOf, samplesProblem } from '../../protocol/samples.ts';
import type { NewSample, OpsEvent, Sample } from '../../protocol/telemetry.ts';
import { formatTimestamp, parseTimestamp, utcOf } from '../../protocol/timestamp.ts';
import type { Instant } from '../clock.ts';
import { agentError } from '../errors.ts';
import type { SpoolRecord } from '../spool/records.ts';
import { documentText, type LocalDeps } from './call.ts';

/** Accepts all samples or none. @throws SvcError `invalid_sample`, `spool_full` */
export function recordSamples(
  { spool, clock }: Pick<LocalDeps, 'spool' | 'clock'>,
  body: Body<'recordSamples'>,
): { accepted: number; samples: Sample[] } {
  const now = clock.now();
  const problem = samplesProblem(body);
  if (problem !== null) throw agentError(problem.code, problem.message);
  const place = placesOf(body);
  const accepted = samplesOf(body).map((sample, index) => accept(sample, place(index), now));
  spool.recordSamples(accepted.map(({ record }) => record));
  return { accepted: accepted.length, samples: accepted.map(({ answer }) => answer) };
}

function accept(
  sample: NewSample,
  place: string,
  now: Instant,
): { record: SpoolRecord; answer: Sample } {
  const { id: given, ...content } = sample;
  const { metrics = {}, battery_pct = null, state = null, recorded_at } = content;
  if (Buffer.byteLength(canonicalJson(metrics)) > limits.metricsBytes) {
    throw agentError('invalid_sample', tooLarge(`${place}metrics`, limits.metricsBytes).message);
  }
  const id = given ?? newId();
  const recordedAt = recorded_at === undefined ? now.wallMs : parseTimestamp(recorded_at);
  return {
    record: { kind: 'sample', id, body: JSON.stringify(content), ...now },
    answer: {
      id,
      recorded_at: formatTimestamp(recordedAt ?? now.wallMs),
      battery_pct,
      state,
      metrics,
    },
  };
}

/**
 * Accepts an event. `robot_id` is null until the service was reached once.
 * @throws SvcError `payload_too_large`, `spool_full`
 */
export function createEvent(
  { spool, clock }: Pick<LocalDeps, 'spool' | 'clock'>,
  { id: given, ...content }: Body<'createEvent'>,
): { event: Omit<OpsEvent, 'robot_id'> & { robot_id: string | null } } {
  const now = clock.now();
  const { payload = {} } = content;
  documentText('payload', payload, limits.payloadBytes);
  const id = given ?? newId();
  spool.createEvent({ kind: 'event', id, body: JSON.stringify(content), ...now });
  return {
    event: {
      id,
      robot_id: spool.read(({ state }) => state.robotId()),
      event_type: content.event_type,
      severity: content.severity ?? 'info',
      message: content.message ?? '',
      payload,
      occurred_at: utcOf(content.occurred_at),
      created_at: formatTimestamp(now.wallMs),
    },
  };
}
