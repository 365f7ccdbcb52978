import type { Logger } from '../../base/logger.ts';
import type { SvcError } from '../../base/svc-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { NewSample } from '../../protocol/telemetry.ts';
import type { StoredRecord } from '../spool/records.ts';
import type { Batch } from '../spool/sample-table.ts';
import type { Spool } from '../spool/spool.ts';
import { callError, verdictOf } from './classify.ts';
import { eventBody, sampleBody } from './request-body.ts';
import { Retries } from './retries.ts';
import type { ServiceLink } from './service-link.ts';

/** The newest samples go so often, whatever else waits. */
const LIVE_EVERY_MS = 1000;
const LIVE_PARALLEL = 2;
/** Requests with samples of the backlog under way at once. */
const PARALLEL = 4;
/** Batches of the backlog that are fixed in one commit. */
const FIXED_AT_ONCE = 8;
/** A batch that failed so often with a network that works for others is cut in two. */
const MOST_FAILURES = 3;

/** Delivers samples and events. */
export class TelemetryErrands {
  readonly #spool: Spool;
  readonly #link: ServiceLink;
  readonly #logger: Logger;
  readonly #retries = new Retries();
  /** Batches that are not delivered, oldest first; those under way are not among them. */
  #batches: Batch[];
  #underWay = 0;
  #liveUnderWay = 0;
  #eventUnderWay = false;
  #fixing = false;
  #lastLive = Number.NEGATIVE_INFINITY;
  #delivered = 0;

  constructor(spool: Spool, link: ServiceLink, logger: Logger) {
    this.#spool = spool;
    this.#link = link;
    this.#logger = logger;
    this.#batches = spool.read(({ samples }) => samples.batches());
  }

  /** Samples that the service took since the start. */
  get delivered(): number {
    return this.#delivered;
  }

  /** The newest samples, when their time has come; else how long until then; null for nothing. */
  nextLive(): (() => Promise<void>) | { waitMs: number } | null {
    const waitMs = this.#lastLive + LIVE_EVERY_MS - performance.now();
    if (this.#liveUnderWay >= LIVE_PARALLEL || !this.#hasUnfixed()) return null;
    return waitMs > 0 ? { waitMs } : () => this.#sendLive();
  }

  /** Fixes batches of the backlog, for calls to come; null when there are enough. */
  prepare(): Promise<void> | null {
    if (this.#fixing || this.#batches.length >= PARALLEL || !this.#hasBacklog()) return null;
    return this.#fixBacklog();
  }

  /** An event, then the backlog. */
  next(): (() => Promise<void>) | { waitMs: number } | null {
    return this.#nextEvent() ?? this.#nextBatch();
  }

  #nextEvent(): (() => Promise<void>) | null {
    if (this.#eventUnderWay) return null;
    const [event] = this.#spool.read(({ events }) => events.read(1));
    const unreported = this.#spool.read(({ ledger }) => ledger.dropped()) !== null;
    if (event === undefined && !unreported) return null;
    if (this.#retries.waitMs('event') > 0) return null;
    return () => this.#sendEvent(event);
  }

  #nextBatch(): (() => Promise<void>) | { waitMs: number } | null {
    if (this.#underWay >= PARALLEL) return null;
    let waitMs = Number.POSITIVE_INFINITY;
    for (const batch of this.#batches) {
      const wait = this.#retries.waitMs(nameOf(batch));
      if (wait === 0) return () => this.#sendBacklog(batch);
      waitMs = Math.min(waitMs, wait);
    }
    return Number.isFinite(waitMs) ? { waitMs } : null;
  }

  /** Samples that are in no batch. */
  #hasUnfixed(): boolean {
    return this.#spool.read(({ samples }) => {
      const last = samples.ends()?.last ?? 0;
      return last > (samples.batches().at(-1)?.lastSeq ?? 0);
    });
  }

  /** More than the next live request takes, or older samples that no live one will. */
  #hasBacklog(): boolean {
    return this.#spool.read(({ samples }) => samples.hasUnfrozenBefore(limits.samplesPerRequest));
  }

  async #sendLive(): Promise<void> {
    this.#lastLive = performance.now();
    this.#liveUnderWay += 1;
    try {
      const batch = await this.#spool.update(({ samples }) =>
        samples.freezeNewest(limits.samplesPerRequest),
      );
      if (batch !== null) await this.#send(batch);
    } finally {
      this.#liveUnderWay -= 1;
    }
  }

  async #fixBacklog(): Promise<void> {
    this.#fixing = true;
    try {
      const fixed = await this.#spool.update(({ samples }) =>
        Array.from({ length: FIXED_AT_ONCE }, () => samples.freezeOldest(limits.samplesPerRequest)),
      );
      this.#batches.push(...fixed.filter((batch) => batch !== null));
    } finally {
      this.#fixing = false;
    }
  }

  async #sendBacklog(batch: Batch): Promise<void> {
    this.#underWay += 1;
    this.#batches.splice(this.#batches.indexOf(batch), 1);
    try {
      await this.#send(batch);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #send(batch: Batch): Promise<void> {
    const records = this.#spool.read(({ samples }) => samples.read(batch));
    try {
      if (records.length > 0) {
        const samples = this.#bodiesOf(records);
        await this.#link.call('recordSamples', { body: { samples } });
      }
      this.#retries.succeeded(nameOf(batch));
      this.#delivered += records.length;
      void this.#spool.updateSoon(({ samples }) => samples.remove(batch));
    } catch (error) {
      await this.#batchFailed(batch, records, callError(error));
    }
  }

  #bodiesOf(records: StoredRecord[]): NewSample[] {
    const epochs = new Map<number, number | null>();
    return this.#spool.read(({ ledger }) =>
      records.map((record) => {
        const { boot } = record;
        if (!epochs.has(boot)) epochs.set(boot, ledger.epochOf(boot));
        return sampleBody(record, epochs.get(boot) ?? null);
      }),
    );
  }

  async #batchFailed(batch: Batch, records: StoredRecord[], error: SvcError): Promise<void> {
    const name = nameOf(batch);
    if (verdictOf(error) === 'refused' || error.code === 'request_timeout') {
      return this.#cut(batch, records, error);
    }
    this.#retries.failed(name);
    const lost = error.code === 'timed_out' || error.code === 'service_unreachable';
    const tooOften = this.#retries.failuresOf(name) >= MOST_FAILURES;
    if (lost && tooOften && records.length > 1) return this.#cut(batch, records, error);
    this.#batches.unshift(batch);
  }

  /** In two, until the one sample that is refused is alone, and set aside. */
  async #cut(batch: Batch, records: StoredRecord[], error: SvcError): Promise<void> {
    const halves = await this.#spool.halve(batch);
    this.#retries.succeeded(nameOf(batch));
    if (halves !== null) {
      this.#batches.unshift(...halves);
      return;
    }
    if (verdictOf(error) !== 'refused') {
      this.#retries.failed(nameOf(batch));
      this.#batches.unshift(batch);
      return;
    }
    const { code, message } = error;
    this.#logger.warn({ sample: records[0]?.id, code }, `refused and set aside: ${message}`);
    await this.#spool.refuseSamples(batch, { code, message });
  }

  async #sendEvent(event: StoredRecord | undefined): Promise<void> {
    this.#eventUnderWay = true;
    try {
      await this.#spool.reportDropped();
      if (event === undefined) return;
      const epoch = this.#spool.read(({ ledger }) => ledger.epochOf(event.boot));
      await this.#link.call('createEvent', { body: eventBody(event, epoch) });
      this.#retries.succeeded('event');
      await this.#spool.update(({ events }) => events.remove(event.seq));
    } catch (error) {
      await this.#eventFailed(event, callError(error));
    } finally {
      this.#eventUnderWay = false;
    }
  }

  async #eventFailed(event: StoredRecord | undefined, error: SvcError): Promise<void> {
    if (event === undefined || verdictOf(error) !== 'refused') {
      this.#retries.failed('event');
      return;
    }
    const { code, message } = error;
    this.#logger.warn({ event: event.id, code }, `refused and set aside: ${message}`);
    await this.#spool.refuseEvent(event, { code, message });
  }
}

function nameOf({ firstSeq, lastSeq }: Batch): string {
  return `${firstSeq}-${lastSeq}`;
}
