// Delivers samples: the newest once a second, and the backlog in parallel requests.
import { SvcError } from '../../base/svc-error.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import type { JsonObject } from '../../proof/json-value.ts';
import { limits } from '../../protocol/limits.ts';
import type { NewSample } from '../../protocol/telemetry.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { timestampOf } from '../spool/clock-correction.ts';
import type { SpoolRecord, StoredRecord } from '../spool/records.ts';
import type { Batch } from '../spool/samples.ts';
import { isLost, retryAfterMs, verdictOf } from './retry.ts';
import { type NextCall, type NextCalls, Uploads } from './uploads.ts';

/** Requests with the newest samples under way at once. */
const LIVE_PARALLEL = 2;
/** Requests of the backlog under way at once. */
const PARALLEL = 4;
/** Batches made in one commit. */
const BATCHES_PER_COMMIT = 8;
/** A batch that failed this often, while other calls succeed, is halved. */
const MOST_FAILURES = 3;
/** With this many batches, no other is made until one of them is delivered, and none is halved. */
const MOST_BATCHES = 2048;
/** A batch delivered within this time lets the next ones be twice as large. */
const EASY_MS = 5_000;

/** Uploads of samples in batches: ranges of samples that stay together when their request is repeated. */
export class SampleUploads extends Uploads {
  /** Batches not delivered and not under way, oldest first. */
  #batches: Batch[] = this.spool.read(({ samples }) => samples.batches());
  /** Generation of the spool's file that the batches belong to. */
  #generation = this.spool.generation;
  /** Largest number of samples in a request. It shrinks on a slow network. */
  #most: number = limits.samplesPerRequest;
  #underWay = 0;
  #liveUnderWay = 0;
  #batching = false;
  #lastLive = Number.NEGATIVE_INFINITY;
  #delivered = 0;
  /** A part of a batch was delivered, so that halving gets nearer to what failed. */
  #narrows = false;

  /** Samples delivered since the start. */
  get delivered(): number {
    return this.#delivered;
  }

  /** A request with the newest samples if one is due, else the time until then; null without samples. */
  nextLive(): NextCall {
    this.#forgetOldBatches();
    const waitMs = this.#lastLive + this.service.pauses.liveEveryMs - performance.now();
    if (this.#liveUnderWay >= LIVE_PARALLEL || this.#isFull || !this.#hasUnbatched()) return null;
    return waitMs > 0 ? { waitMs } : () => this.#sendLive();
  }

  /** Makes batches of the backlog for the next requests; null if there are enough. */
  prepare(): Promise<void> | null {
    const fresh = this.#batches.filter((batch) => this.retries.failuresOf(nameOf(batch)) === 0);
    const isEnough = this.#batching || this.#isFull || fresh.length >= PARALLEL;
    return isEnough || !this.#hasBacklog() ? null : this.#batchBacklog();
  }

  get #isFull(): boolean {
    return this.#batches.length >= MOST_BATCHES;
  }

  /** Recovery of the spool dissolves all batches. */
  #forgetOldBatches(): void {
    if (this.#generation === this.spool.generation) return;
    this.#generation = this.spool.generation;
    this.#batches = this.spool.read(({ samples }) => samples.batches());
  }

  /** Requests of the backlog. Of those that failed, the one that failed least often is next. */
  next(): NextCalls {
    if (this.#underWay >= PARALLEL) return { fresh: null, retry: null };
    let fresh: Batch | null = null;
    let retry: { batch: Batch; failures: number } | null = null;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const batch of this.#batches) {
      const name = nameOf(batch);
      const failures = this.retries.failuresOf(name);
      const wait = this.retries.waitMs(name);
      if (failures === 0 && wait === 0) fresh ??= batch;
      else if (wait > 0) waitMs = Math.min(waitMs, wait);
      else if (retry === null || failures < retry.failures) retry = { batch, failures };
    }
    const callFor = (batch: Batch) => () => this.#sendBacklog(batch);
    return {
      fresh: fresh && callFor(fresh),
      retry: retry ? callFor(retry.batch) : Number.isFinite(waitMs) ? { waitMs } : null,
    };
  }

  /** Whether any sample is in no batch. */
  #hasUnbatched(): boolean {
    return this.spool.read(({ samples }) => {
      const last = samples.ends()?.last ?? 0;
      return last > (samples.batches().at(-1)?.lastSeq ?? 0);
    });
  }

  /** Whether the next live request leaves samples behind. */
  #hasBacklog(): boolean {
    return this.spool.read(({ samples }) => samples.hasUnbatchedBefore(limits.samplesPerRequest));
  }

  async #sendLive(): Promise<void> {
    this.#lastLive = performance.now();
    this.#liveUnderWay += 1;
    try {
      const batch = await this.spool.update(({ samples }) => samples.batchNewest(this.#most));
      if (batch !== null) await this.#sendOrKeep(batch);
    } finally {
      this.#liveUnderWay -= 1;
    }
  }

  async #batchBacklog(): Promise<void> {
    this.#batching = true;
    try {
      const batches = await this.spool.update(({ samples }) =>
        Array.from({ length: BATCHES_PER_COMMIT }, () => samples.batchOldest(this.#most)),
      );
      this.#batches.push(...batches.filter((batch) => batch !== null));
    } finally {
      this.#batching = false;
    }
  }

  async #sendBacklog(batch: Batch): Promise<void> {
    this.#underWay += 1;
    this.#batches.splice(this.#batches.indexOf(batch), 1);
    try {
      await this.#sendOrKeep(batch);
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Keeps a batch in the queue if the spool could not record its outcome. */
  async #sendOrKeep(batch: Batch): Promise<void> {
    try {
      await this.#send(batch);
    } catch (error) {
      this.#batches.unshift(batch);
      throw error;
    }
  }

  async #send(batch: Batch): Promise<void> {
    const generation = this.#generation;
    const records = this.spool.read(({ samples }) => samples.read(batch));
    if (records.length > this.#most) return this.#halve(batch);
    const startedAt = performance.now();
    const error = await this.#deliver(batch, records);
    if (generation !== this.spool.generation) return;
    if (error !== null) return this.#batchFailed(batch, records, error);
    this.#narrows ||= this.#failedOften(nameOf(batch));
    this.done(nameOf(batch));
    this.#delivered += records.length;
    const isEasy = performance.now() - startedAt <= EASY_MS && records.length >= this.#most;
    if (isEasy) this.#most = Math.min(2 * this.#most, limits.samplesPerRequest);
    void this.spool.updateSoon(({ samples }) => {
      if (generation === this.spool.generation) samples.remove(batch);
    });
  }

  /** Null if the service has the samples, else the error. */
  async #deliver(batch: Batch, records: StoredRecord[]): Promise<SvcError | null> {
    const [first] = records;
    if (first === undefined) return null;
    const epochs = this.#epochsOf(records);
    const inputOf = () => ({
      body: { samples: records.map((one) => sampleBody(one, epochs.get(one.boot) ?? null)) },
    });
    const about = { ...first, name: nameOf(batch), count: records.length };
    const isOwn = ({ body }: { body: { accepted: number } }) => body.accepted === records.length;
    const answer = await this.ask('recordSamples', inputOf, [about], isOwn);
    return answer instanceof SvcError ? answer : null;
  }

  /** The epochs of their boots, by boot. */
  #epochsOf(records: StoredRecord[]): Map<number, number | null> {
    const boots = [...new Set(records.map(({ boot }) => boot))];
    return this.spool.read(
      ({ state }) => new Map(boots.map((boot) => [boot, state.epochOf(boot)])),
    );
  }

  async #batchFailed(batch: Batch, records: StoredRecord[], error: SvcError): Promise<void> {
    const name = nameOf(batch);
    const verdict = verdictOf(error);
    const isAlone = records.length === 1;
    if (verdict === 'refused' && !isAlone) return this.#halve(batch);
    if (this.isFinal(name, error)) return this.#refuse(batch, records, error);
    this.retries.failed(name, this.service.retryRange(error), retryAfterMs(error));
    const half = Math.max(1, Math.floor(records.length / 2));
    if (verdict === 'slow') this.#most = Math.min(this.#most, half);
    const mayBeTheCause = (isLost(error) || verdict === 'record') && this.#failedOften(name);
    const isHalved = verdict === 'slow' || (mayBeTheCause && !this.#isFull);
    if (!isAlone && isHalved) await this.#halve(batch);
    else this.#batches.unshift(batch);
  }

  #aboutOf(batch: Batch) {
    const records = this.spool.read(({ samples }) => samples.read(batch));
    return { name: nameOf(batch), id: records[0]?.id ?? '', count: records.length };
  }

  #failedOften(name: string): boolean {
    return this.retries.failuresOf(name) >= MOST_FAILURES;
  }

  async #halve(batch: Batch): Promise<void> {
    const halves = await this.spool.update(({ samples }) => samples.halve(batch));
    const parts = halves ?? [batch];
    if (this.#narrows) this.retries.ease(nameOf(batch), MOST_FAILURES, this.service.pauses.usual);
    this.#narrows = false;
    this.split(
      nameOf(batch),
      parts.map((part) => this.#aboutOf(part)),
    );
    this.#batches.unshift(...parts);
  }

  async #refuse(batch: Batch, records: StoredRecord[], error: SvcError): Promise<void> {
    const { code, message } = error;
    this.logger.warn({ sample: records[0]?.id, code, reason: message }, 'sample set aside');
    await this.spool.refuseSamples(batch, { code, message });
    this.done(nameOf(batch));
  }
}

function nameOf({ firstSeq, lastSeq }: Batch): string {
  return `${firstSeq}-${lastSeq}`;
}

export function sampleBody(record: SpoolRecord, epochMs: number | null): NewSample {
  const content: NewSample = JSON.parse(record.body);
  const { text: recorded_at, corrected } = timestampOf(content.recorded_at, record, epochMs);
  const sample = { ...content, id: record.id, recorded_at };
  return corrected ? withNote(sample, record) : sample;
}

/** Notes the clocks in the metrics of a sample with a corrected time, if there is room. */
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
