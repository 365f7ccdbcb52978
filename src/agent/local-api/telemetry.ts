// Samples and ops events of the local API.
import { v7 as newId } from 'uuid';
import { canonicalJson } from '../../proof/canonical-json.ts';
import { tooLarge } from '../../protocol/body-error.ts';
import { limits } from '../../protocol/limits.ts';
import { type Body, routes } from '../../protocol/routes.ts';
import { samplesProblem } from '../../protocol/samples.ts';
import type { WireError } from '../../protocol/schema-error.ts';
import type { NewSample, OpsEvent, Sample } from '../../protocol/telemetry.ts';
import { formatTimestamp, parseTimestamp, utcOf } from '../../protocol/timestamp.ts';
import type { Instant } from '../clock.ts';
import { agentError } from '../errors.ts';
import type { SpoolRecord } from '../spool/records.ts';
import {
  documentText,
  type LocalDeps,
  requireZone,
  UnreadableSample,
  zoneProblem,
} from './call.ts';

/** A sample that the agent did not accept. */
interface SetAside {
  /** Its place in `samples`. */
  readonly index: number;
  readonly error: WireError['code'];
  readonly message: string;
}

/** The body of a request before its samples are checked. */
export type UncheckedSamples = Omit<Body<'recordSamples'>, 'samples'> & {
  samples?: (NewSample | UnreadableSample)[];
};

/** The largest sample that is kept when it is set aside. */
const MOST_ASIDE_BYTES = 2 * limits.metricsBytes;

/**
 * Accepts the samples. Sets malformed ones aside if any other is accepted. `errorOf`: what is wrong with the shape of a
 * sample, by its index; null if nothing is.
 * @throws SvcError `invalid_sample`, `spool_full`
 */
export function recordSamples(
  { spool, clock }: Pick<LocalDeps, 'spool' | 'clock'>,
  { samples, ...single }: UncheckedSamples,
  errorOf: (sample: unknown, index: number) => WireError | null,
): { accepted: number; samples: Sample[]; set_aside?: SetAside[] } {
  const now = clock.now();
  const mixed = samples && samplesProblem({ ...single, samples: [] });
  if (mixed) throw agentError(mixed.code, mixed.message);
  const accepted: ReturnType<typeof accept>[] = [];
  const aside: (SetAside & { text: string })[] = [];
  for (const [index, sample] of (samples ?? [single]).entries()) {
    const place = samples === undefined ? '' : `samples.${index}.`;
    const fault =
      sample instanceof UnreadableSample
        ? sample.error
        : (errorOf(sample, index) ?? problemOf(sample, place));
    if (fault === null) accepted.push(accept(sample as NewSample, now));
    else {
      const text = sample instanceof UnreadableSample ? sample.text : JSON.stringify(sample);
      aside.push({ index, error: fault.code, message: fault.message, text });
    }
  }
  const [first] = aside;
  if (accepted.length === 0 && first) throw agentError(first.error, first.message);
  spool.recordSamples(accepted.map(({ record }) => record));
  for (const { error: code, message, text } of aside) {
    const isKept = text.startsWith('{') && text.length <= MOST_ASIDE_BYTES;
    const record: SpoolRecord = { kind: 'sample', id: newId(), ...now, body: text };
    if (isKept) spool.setAsideSample(record, { code, message });
  }
  return {
    accepted: accepted.length,
    samples: accepted.map(({ answer }) => answer),
    ...(aside.length > 0 && { set_aside: aside.map(({ text: _, ...one }) => one) }),
  };
}

/** What schemas cannot state about a sample; null if nothing is wrong. `place`: the prefix of its fields in messages. */
function problemOf(sample: NewSample, place: string): WireError | null {
  const { metrics = {} } = sample;
  if (Buffer.byteLength(canonicalJson(metrics)) > limits.metricsBytes) {
    const { message } = tooLarge(`${place}metrics`, limits.metricsBytes);
    return { code: 'invalid_sample', message };
  }
  const problem =
    samplesProblem(sample) ?? zoneProblem('recorded_at', sample.recorded_at, routes.recordSamples);
  return problem && { ...problem, message: `${place}${problem.message}` };
}

function accept(sample: NewSample, now: Instant): { record: SpoolRecord; answer: Sample } {
  const { id: given, ...content } = sample;
  const { metrics = {}, battery_pct = null, state = null, recorded_at } = content;
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
  requireZone('occurred_at', content.occurred_at, routes.createEvent);
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
