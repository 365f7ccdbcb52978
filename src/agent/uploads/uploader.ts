// Decides which upload starts next, and runs the rounds that start them.

import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../../base/async/in-time.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Answer } from '../../protocol/routes.ts';
import { agentError } from '../errors.ts';
import { EventUploads } from './events.ts';
import { Promises } from './promises.ts';
import { callError, Retries } from './retry.ts';
import { SampleUploads } from './samples.ts';
import { ServiceClient, type ServiceClientOptions } from './service-client.ts';
import { TaskUploads } from './tasks.ts';
import { firstOf, type NextCall, type Retried } from './uploads.ts';

/** Longest wait of a local caller for the service. */
const READ_MS = 5_000;

/** Period of the delivery rate in the status. */
const RATE_MS = 60_000;

const SPOOL = 'spool';

/** Time for aborted calls to write their outcome. */
const LAST_MS = 2_000;

/** Calls about the key that the robot signs with (`signing/identity.ts`). */
export interface IdentityCalls {
  next(service: ServiceClient): NextCall;
  /** The service wants a statement: the key in use may have changed. */
  readSoon(): void;
}

export interface UploaderOptions extends ServiceClientOptions {
  readonly identity: IdentityCalls;
}

/**
 * Delivers the spool at the allowed rate, from its construction on. Order: the newest samples once a second,
 * the robot's signing key, claims and completions, events, the backlog of samples.
 */
export class Uploader {
  readonly #options: UploaderOptions;
  readonly #service: ServiceClient;
  readonly #tasks: TaskUploads;
  readonly #promises: Promises;
  readonly #events: EventUploads;
  readonly #samples: SampleUploads;
  readonly #underWay = new Set<Promise<void>>();
  #connecting: Promise<void> | null = null;
  #stopped = false;
  #timer: NodeJS.Timeout | undefined;
  #scheduled = false;
  #rates: { at: number; delivered: number }[] = [];
  #progressAt = performance.now();
  #sentLive = false;
  #sentRetry = false;
  readonly #spoolRetries = new Retries();

  constructor(options: UploaderOptions) {
    const { spool, logger, identity } = options;
    this.#options = options;
    this.#service = new ServiceClient(options);
    this.#promises = new Promises(options);
    const onStatementRequired = () => identity.readSoon();
    const task = { promises: this.#promises, onStatementRequired };
    this.#tasks = new TaskUploads(spool, this.#service, logger, task);
    this.#events = new EventUploads(spool, this.#service, logger);
    this.#samples = new SampleUploads(spool, this.#service, logger);
    spool.onChange(() => this.#wake());
    this.#wake();
  }

  /** The task as the service has it. Rejects with the service's error or `service_unreachable`. */
  async readTask(id: string): Promise<Answer<'getTask'>['body']> {
    try {
      return await this.#readTask(id);
    } catch (error) {
      if (callError(error).code !== 'not_found') throw error;
      // A gateway can say the same: it counts if it is repeated after the service named this robot.
      const refusedAt = performance.now();
      await inTime(READ_MS, this.#connectAnew(), null);
      if (!this.#service.namedRobotBetween(refusedAt, performance.now())) throw unreachable(error);
      return this.#readTask(id);
    }
  }

  async #readTask(id: string): Promise<Answer<'getTask'>['body']> {
    if (!this.#service.connected || this.#service.waitMs() > READ_MS) throw unreachable();
    this.#service.rate.take();
    const call = this.#service.call(
      'getTask',
      { params: { id } },
      ({ body }) => body.task.id === id,
    );
    const answer = await inTime(READ_MS, call, null).catch((error: unknown) => {
      throw callError(error).code === 'not_found' ? error : unreachable(error);
    });
    if (answer === null) throw unreachable();
    return answer.body;
  }

  /** The `performance.now()` of the last round. The watchdog reads it. */
  get progressAt(): number {
    return this.#progressAt;
  }

  status() {
    return {
      ...this.#service.status(),
      /** Records that failed and stay in the spool: how many, and some of them. */
      retried: retriedOf([this.#tasks, this.#events, this.#samples].flatMap((one) => one.retried)),
      completions_wait_for: this.#tasks.withoutCredits,
      samples_per_minute: this.#rate(),
      calls_per_minute_allowed: Math.floor(this.#service.rate.perMinute),
    };
  }

  /** Starts no more calls. Resolves when those under way end, or after about `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await Promise.race([Promise.all(this.#underWay), sleep(graceMs, undefined, { ref: false })]);
    this.#service.close();
    await Promise.race([Promise.all(this.#underWay), sleep(LAST_MS, undefined, { ref: false })]);
  }

  #wake(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#runRound();
    });
  }

  #runRound(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#progressAt = performance.now();
    this.#noteRate();
    void this.#service.lookAtKey().then((changed) => changed && this.#wake());
    const waitMs = Math.min(this.#nextRound(), this.#options.pauses.lookMs);
    this.#timer = setTimeout(() => this.#wake(), waitMs);
  }

  #nextRound(): number {
    try {
      return this.#startCalls();
    } catch (error) {
      this.#workFailed(error);
      return this.#options.pauses.lookMs;
    }
  }

  /** Starts every call that may start now. Returns milliseconds until more may start. */
  #startCalls(): number {
    for (;;) {
      const closed = Math.max(this.#service.waitMs(), this.#spoolRetries.waitMs(SPOOL));
      if (closed > 0) return Math.ceil(closed);
      if (!this.#service.connected) {
        this.#connect();
        return this.#options.pauses.lookMs;
      }
      if (this.#service.isDoubted) this.#connect();
      if (this.#service.isFull) return this.#options.pauses.lookMs;
      const preparing = this.#samples.prepare();
      if (preparing !== null) this.#track(preparing);
      const live = this.#samples.nextLive();
      const identity = this.#options.identity.next(this.#service);
      const [tasks, events, samples] = [
        this.#tasks.next(),
        this.#events.next(),
        this.#samples.next(),
      ];
      const retries = [tasks.retry, events.retry, samples.retry];
      // Neither retries nor the backlog may take all calls, so every second one is of the other.
      const last = this.#sentRetry ? [samples.fresh, ...retries] : [...retries, samples.fresh];
      const promises = this.#promises.next(this.#service);
      const others = [identity, promises, tasks.fresh, events.fresh, ...last];
      // On a network that live samples alone would fill, every second call is another one.
      const call = firstOf(this.#sentLive ? [...others, live] : [live, ...others]);
      if (typeof call !== 'function') return Math.ceil(call?.waitMs ?? Number.POSITIVE_INFINITY);
      this.#sentLive = call === live;
      if (!this.#sentLive) this.#sentRetry = retries.includes(call);
      this.#service.rate.take();
      this.#track(call());
    }
  }

  #connect(): Promise<void> {
    if (this.#connecting !== null) return this.#connecting;
    const connecting = this.#service.connect().finally(() => {
      this.#connecting = null;
    });
    this.#connecting = connecting;
    this.#track(connecting);
    return connecting;
  }

  /** Asks for this robot with a call that starts after this one. */
  async #connectAnew(): Promise<void> {
    await this.#connecting;
    await this.#connect();
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .then(
        () => this.#spoolRetries.succeeded(SPOOL),
        (error) => this.#workFailed(error),
      )
      .finally(() => {
        this.#underWay.delete(tracked);
        this.#wake();
      });
    this.#underWay.add(tracked);
  }

  /**
   * Failed calls are handled where they are made. This is an error of the spool or a bug, and would fail
   * again at once.
   */
  #workFailed(error: unknown): void {
    if (this.#spoolRetries.waitMs(SPOOL) > 0) return;
    this.#spoolRetries.failed(SPOOL, this.#options.pauses.spool);
    const { logger } = this.#options;
    if (error instanceof SvcError)
      logger.error({ code: error.code, reason: error.message, err: error.cause }, 'upload failed');
    else logger.error({ err: error }, 'unexpected error');
  }

  #noteRate(): void {
    const now = performance.now();
    if (now - (this.#rates.at(-1)?.at ?? 0) < this.#options.pauses.lookMs / 2) return;
    this.#rates.push({ at: now, delivered: this.#samples.delivered });
    while ((this.#rates[1]?.at ?? now) < now - RATE_MS) this.#rates.shift();
  }

  #rate(): number {
    const [first, now] = [this.#rates[0], performance.now()];
    if (first === undefined || now - first.at < 1000) return 0;
    return Math.round(((this.#samples.delivered - first.delivered) * 60_000) / (now - first.at));
  }
}

/** Most of the records that the status lists, so that its answer stays short. */
const RETRIED_SHOWN = 20;

function retriedOf(all: readonly Retried[]) {
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    records: all.slice(0, RETRIED_SHOWN),
  };
}

function unreachable(cause?: unknown) {
  const message = 'The service cannot be reached now; retry later.';
  return agentError('service_unreachable', message, { cause });
}
