// Delivers ops events, one at a time, and reports what the spool had to drop.
import { SvcError } from '../../base/svc-error.ts';
import type { Answer, Body } from '../../protocol/routes.ts';
import { bodyOf } from '../spool/clock-correction.ts';
import type { StoredRecord } from '../spool/records.ts';
import { retryAfterMs } from './retry.ts';
import { type NextCalls, Uploads } from './uploads.ts';

/** With this many failed events, no other is tried until one of them is delivered. */
const MOST_FAILED = 2000;

/** Delivers events in their order, but for those that wait for a retry. */
export class EventUploads extends Uploads {
  #underWay = false;

  next(): NextCalls {
    if (this.#underWay) return { fresh: null, retry: null };
    if (this.spool.read(({ state }) => state.dropped()) !== null) {
      return { fresh: () => this.#run(this.spool.reportDropped()), retry: null };
    }
    const [waiting, due] = [this.retries.names({ due: false }), this.retries.names({ due: true })];
    const failed = [...waiting, ...due];
    const { fresh, retry } = this.spool.read(({ events }) => ({
      fresh: failed.length < MOST_FAILED ? events.oldestWithout(failed) : null,
      retry: due.length > 0 ? events.oldestOf(due) : null,
    }));
    // The spool dropped them for space.
    if (retry === null) for (const id of due) this.done(id);
    return { fresh: this.#callFor(fresh), retry: this.#callFor(retry) };
  }

  #callFor(event: StoredRecord | null): (() => Promise<void>) | null {
    return event && (() => this.#run(this.#send(event)));
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
    const { id } = event;
    const epoch = this.spool.read(({ state }) => state.epochOf(event.boot));
    const inputOf = () => ({ body: bodyOf<Body<'createEvent'>>(event, epoch) });
    const isOwn = ({ body }: Answer<'createEvent'>) => body.event.id === id;
    const answer = await this.ask('createEvent', inputOf, [event], isOwn);
    if (!(answer instanceof SvcError)) {
      this.done(id);
      await this.spool.update(({ events }) => events.remove(event));
    } else if (this.isFinal(id, answer)) {
      const { code, message } = answer;
      this.logger.warn({ event: id, code, reason: message }, 'event set aside');
      await this.spool.refuseEvent(event, { code, message });
      this.done(id);
    } else {
      this.retries.failed(id, this.service.retryRange(answer), retryAfterMs(answer));
    }
  }
}
