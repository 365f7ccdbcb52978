// Delivers ops events, one at a time, and reports what the spool had to drop.
import type { Body } from '../../protocol/routes.ts';
import type { SpoolRecord, StoredRecord } from '../spool/records.ts';
import { callError, verdictOf } from './retry.ts';
import { Uploads } from './service-client.ts';
import { timestampOf } from './time.ts';

/** Events looked at, oldest first: one that fails does not hold up those behind it. */
const EVENTS_LOOKED_AT = 16;

/** Delivers events in their order, but for those that wait for a retry. */
export class EventUploads extends Uploads {
  #underWay = false;

  /** The next call to make; null for nothing. */
  next(): (() => Promise<void>) | null {
    if (this.#underWay) return null;
    if (this.spool.read(({ state }) => state.dropped()) !== null) {
      return () => this.#run(this.spool.reportDropped());
    }
    const events = this.spool.read((tables) => tables.events.read(EVENTS_LOOKED_AT));
    const event = events.find(({ id }) => this.retries.waitMs(id) === 0);
    return event === undefined ? null : () => this.#run(this.#send(event));
  }

  async #run(work: Promise<void>): Promise<void> {
    this.#underWay = true;
    try {
      await work;
    } finally {
      this.#underWay = false;
    }
  }

  async #send(event: StoredRecord): Promise<void> {
    const epoch = this.spool.read(({ state }) => state.epochOf(event.boot));
    const error = await this.service
      .call('createEvent', { body: eventBody(event, epoch) })
      .then(() => null, callError);
    if (error === null) {
      this.retries.succeeded(event.id);
      await this.spool.update(({ events }) => events.remove(event));
    } else if (verdictOf(error) === 'refused') {
      const { code, message } = error;
      this.logger.warn({ event: event.id, code, reason: message }, 'event set aside');
      await this.spool.refuseEvent(event, { code, message });
    } else {
      this.retries.failed(event.id, this.service.retryRange(error));
    }
  }
}

function eventBody(record: SpoolRecord, epochMs: number | null): Body<'createEvent'> {
  const content: Omit<Body<'createEvent'>, 'id'> = JSON.parse(record.body);
  const { text: occurred_at } = timestampOf(content.occurred_at, record, epochMs);
  return { ...content, id: record.id, occurred_at };
}
