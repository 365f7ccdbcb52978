// Delivers ops events, one at a time, and reports what the spool had to drop.
import type { Logger } from '../../base/logger.ts';
import type { SvcError } from '../../base/svc-error.ts';
import type { Body } from '../../protocol/routes.ts';
import type { SpoolRecord, StoredRecord } from '../spool/records.ts';
import type { Spool } from '../spool/spool.ts';
import { callError, Retries, verdictOf } from './retry.ts';
import type { ServiceClient } from './service-client.ts';
import { occurredAt } from './time.ts';

/** Events looked at, oldest first: one that fails does not hold up those behind it. */
const EVENTS_LOOKED_AT = 16;

/** Delivers events in their order, but for those that wait for a retry. */
export class EventUploads {
  readonly #spool: Spool;
  readonly #service: ServiceClient;
  readonly #logger: Logger;
  readonly #retries = new Retries();
  #underWay = false;

  constructor(spool: Spool, service: ServiceClient, logger: Logger) {
    this.#spool = spool;
    this.#service = service;
    this.#logger = logger;
  }

  /** The next call to make; null for nothing. */
  next(): (() => Promise<void>) | null {
    if (this.#underWay) return null;
    if (this.#spool.read(({ state }) => state.dropped()) !== null) {
      return () => this.#reportDropped();
    }
    const events = this.#spool.read((tables) => tables.events.read(EVENTS_LOOKED_AT));
    const event = events.find(({ id }) => this.#retries.waitMs(id) === 0);
    return event === undefined ? null : () => this.#sendEvent(event);
  }

  async #reportDropped(): Promise<void> {
    this.#underWay = true;
    try {
      await this.#spool.reportDropped();
    } finally {
      this.#underWay = false;
    }
  }

  async #sendEvent(event: StoredRecord): Promise<void> {
    this.#underWay = true;
    try {
      const epoch = this.#spool.read(({ state }) => state.epochOf(event.boot));
      const error = await this.#service
        .call('createEvent', { body: eventBody(event, epoch) })
        .then(() => null, callError);
      if (error !== null) return await this.#eventFailed(event, error);
      this.#retries.succeeded(event.id);
      await this.#spool.update(({ events }) => events.remove(event));
    } finally {
      this.#underWay = false;
    }
  }

  async #eventFailed(event: StoredRecord, error: SvcError): Promise<void> {
    if (verdictOf(error) !== 'refused') {
      this.#retries.failed(event.id, this.#service.retryRange(error));
      return;
    }
    const { code, message } = error;
    this.#logger.warn({ event: event.id, code }, `refused and set aside: ${message}`);
    await this.#spool.refuseEvent(event, { code, message });
  }
}

export function eventBody(record: SpoolRecord, epochMs: number | null): Body<'createEvent'> {
  const content: Omit<Body<'createEvent'>, 'id'> = JSON.parse(record.body);
  return {
    ...content,
    id: record.id,
    occurred_at: occurredAt(content.occurred_at, record, epochMs),
  };
}
