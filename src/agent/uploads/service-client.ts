// Calls the service as the robot: key, identity, rate, and pauses after failures.
import { type Dispatcher, fetch as undiciFetch } from 'undici';
import type { BackoffRange } from '../../base/async/backoff.ts';
import type { Logger } from '../../base/logger.ts';
import { connectionsTo } from '../../base/proxy/connections.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { CallName, Client } from '../../client/client.ts';
import type { Answer, Input } from '../../protocol/routes.ts';
import type { AgentClock } from '../clock.ts';
import { type KeySource, keyHint, keyVersion, readKey } from '../key.ts';
import { fixBootEpochs } from '../spool/clock-correction.ts';
import type { Spool } from '../spool/spool.ts';
import {
  type BatchedCall,
  type BatchItem,
  createReader,
  readItem,
  unexpectedAnswer,
} from './answers.ts';
import { RateBudget } from './rate-budget.ts';
import {
  callError,
  isLost,
  Retries,
  retryAfterMs,
  type UploaderPauses,
  verdictOf,
} from './retry.ts';

export interface ServiceClientOptions {
  readonly serviceUrl: string;
  readonly key: KeySource;
  readonly spool: Spool;
  readonly clock: AgentClock;
  readonly logger: Logger;
  readonly pauses: UploaderPauses;
}

/** State of the connection, as `svc-agent status` shows it. */
type ServiceState =
  /** Not tried yet, or no answer arrived. */
  | 'disconnected'
  /** The service answers and accepts the key. */
  | 'connected'
  | 'key_unusable'
  | 'key_refused'
  /** The key belongs to another robot than the records. */
  | 'foreign_key';

/** Time limits of a call. Each 500 bytes of its body add a second. */
const ANSWER_MS = 60_000;
const COMPLETION_MS = 120_000;

/** Calls that wait for anchors. */
const waiting: readonly CallName[] = ['completeTask', 'batchTasks'];

/** A refused key is tried again after this time, in case the service was restored. */
const SAME_KEY_MS = 15 * 60_000;

const CONNECTION = 'connection';
/**
 * Retry name of the pause that the service asked for. Unlike the agent's own pause, an answer to an earlier
 * call does not end it.
 */
const ASKED = 'asked';

/** Most calls under way at once. */
const MAX_CONCURRENT = 32;

/** One robot's connection to the service. */
export class ServiceClient {
  readonly rate = new RateBudget();
  readonly pauses: UploaderPauses;
  readonly #options: ServiceClientOptions;
  readonly #retries = new Retries();
  #connections: Dispatcher;
  #client: Pick<Client, 'call'> | null = null;
  #state: ServiceState = 'disconnected';
  #refused: { key: string; at: number } | null = null;
  #hint: string | null = null;
  #lastError: { code: string; message: string; at: string } | null = null;
  #offsetMs: number | null = null;
  #keySeen: string | null = null;
  #lookedAt = 0;
  /** Whether an answer casts doubt on what is at the service's address. */
  #doubted = false;
  #askedWhoseAt = Number.NEGATIVE_INFINITY;
  /** When the service last named this robot: start and end of the call. */
  #named = { startedAt: Number.NEGATIVE_INFINITY, endedAt: Number.NEGATIVE_INFINITY };
  /** The last failure of the connection, which is logged once. */
  #reason: string | null = null;
  /**
   * Limit of concurrent calls, with a fraction. It is halved when one of several calls is too slow, so that
   * fewer share a slow network, and grows by one after as many answers as there were concurrent calls.
   */
  #concurrent = MAX_CONCURRENT;
  #underWay = 0;
  #failedAt = 0;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
    this.#connections = openConnections(options.serviceUrl);
    this.pauses = options.pauses;
  }

  get connected(): boolean {
    return this.#state === 'connected';
  }

  status() {
    const { wallMs } = this.#options.clock.now();
    return {
      connected: this.connected,
      state: this.#state,
      service: this.#options.serviceUrl,
      key_hint: this.#hint,
      last_error: this.#lastError,
      clock: { now: new Date(wallMs).toISOString(), ahead_of_service_ms: this.#offsetMs },
    };
  }

  /** The wall clock if it is synchronized, else the service's clock; null while neither is known. */
  get nowMs(): number | null {
    const { clock } = this.#options;
    const { wallMs } = clock.now();
    if (clock.isSynchronized()) return wallMs;
    return this.#offsetMs === null ? null : wallMs - this.#offsetMs;
  }

  /** Range of pauses after this error. */
  retryRange(error: SvcError): BackoffRange {
    if (verdictOf(error) === 'unexpected') return this.pauses.unexpected;
    return isLost(error) ? this.pauses.lost : this.pauses.usual;
  }

  /** Makes `connect` ask for this robot again soon: a gateway may have answered in place of the service. */
  doubt(): void {
    this.#doubted = true;
  }

  /** Whether `connect` should ask for this robot again, although the service is connected. One call settles all doubts. */
  get isDoubted(): boolean {
    return this.#doubted && performance.now() - this.#askedWhoseAt >= this.pauses.usual.firstMs;
  }

  /** Whether the service named this robot between two moments of `performance.now()`, in a call of that time. */
  namedRobotBetween(from: number, to: number): boolean {
    return this.connected && this.#named.startedAt > from && this.#named.endedAt <= to;
  }

  /** Whether the limit of concurrent calls is reached. */
  get isFull(): boolean {
    return this.#underWay >= Math.floor(this.#concurrent);
  }

  /** Milliseconds until the next call may start; 0 for now. */
  waitMs(): number {
    const [own, asked] = [this.#retries.waitMs(CONNECTION), this.#retries.waitMs(ASKED)];
    return Math.max(own, asked, this.rate.waitMs());
  }

  /** Reads the key and asks the service for its robot. Resolves in any case; `status` has the outcome. */
  async connect(): Promise<void> {
    let key: string;
    this.#keySeen = await keyVersion(this.#options.key);
    try {
      key = await readKey(this.#options.key);
    } catch (error) {
      this.#keyFailed('key_unusable', error as SvcError);
      return;
    }
    const refused = this.#refused;
    if (refused?.key === key && performance.now() - refused.at < SAME_KEY_MS) {
      this.#retries.failed(CONNECTION, this.pauses.keyCheck);
      return;
    }
    this.#hint = keyHint(key);
    const { serviceUrl: baseUrl } = this.#options;
    this.#client = createReader({
      baseUrl,
      fetch: (url, init) => undiciFetch(url, { ...init, dispatcher: this.#connections }),
      credential: { apiKey: key },
      nowMs: () => this.#options.clock.now().wallMs,
    });
    this.#doubted = false;
    const startedAt = performance.now();
    this.#askedWhoseAt = startedAt;
    try {
      this.rate.take();
      const { robot } = (await this.call('getOwnRobot')).body;
      const endedAt = performance.now();
      if (await this.#identify(robot.id, key)) this.#named = { startedAt, endedAt };
    } catch (error) {
      const known = callError(error);
      if (verdictOf(known) === 'key') this.#refused = { key, at: performance.now() };
      // Any failure pauses the next try.
      else if (this.#retries.waitMs(CONNECTION) === 0)
        this.#retries.failed(CONNECTION, this.pauses.lost);
    }
  }

  /**
   * Makes one call, which the caller has taken from `rate`, and records what its outcome means for other calls.
   * `isOwn`: whether the answer is about what was sent.
   * @throws SvcError as `createReader`, and `timed_out`
   */
  async call<Name extends CallName>(
    name: Name,
    input?: Input<Name>,
    isOwn: (answer: Answer<Name>) => boolean = () => true,
  ): Promise<Answer<Name>> {
    if (this.#client === null) throw new SvcError('service_unreachable', 'Not connected yet.');
    const base = waiting.includes(name) ? COMPLETION_MS : ANSWER_MS;
    const { body } = (input ?? {}) as { body?: unknown };
    const size = body === undefined ? 0 : JSON.stringify(body).length;
    const signal = AbortSignal.timeout(base + 2 * size);
    const startedAt = performance.now();
    this.#underWay += 1;
    try {
      // Every input accepts a signal.
      const answer = await this.#client.call(name, { ...input, signal } as never);
      const { headers } = answer;
      if (!isOwn(answer)) {
        const status = Number(answer.status);
        throw unexpectedAnswer(this.#options.serviceUrl, { status, headers });
      }
      this.#succeeded(headers, performance.now() - startedAt);
      return answer;
    } catch (error) {
      const known = callError(error, signal);
      this.failed(name, known, startedAt);
      throw known;
    } finally {
      this.#underWay -= 1;
    }
  }

  /** As `readItem`. */
  read<Name extends BatchedCall>(
    name: Name,
    item: BatchItem,
    isOwn: (answer: Answer<Name>) => boolean,
  ): Answer<Name> | SvcError {
    return readItem(name, item, isOwn, this.#options.serviceUrl);
  }

  /** Looks whether the key file changed. If so, the next round connects at once. */
  async lookAtKey(): Promise<boolean> {
    if (this.#keySeen === null || performance.now() - this.#lookedAt < this.pauses.keyCheck.firstMs)
      return false;
    this.#lookedAt = performance.now();
    const seen = await keyVersion(this.#options.key);
    if (seen === this.#keySeen) return false;
    this.#keySeen = seen;
    this.#state = 'disconnected';
    this.#retries.clear();
    return true;
  }

  close(): void {
    void this.#connections.destroy();
  }

  /** Whether the key belongs to the robot of the records. */
  async #identify(robotId: string, key: string): Promise<boolean> {
    const { spool, clock, logger } = this.#options;
    const own = spool.read(({ state }) => state.robotId());
    if (own !== null && own !== robotId) {
      this.#refused = { key, at: performance.now() };
      const message = `The key belongs to robot ${robotId}, but the spool has records of ${own}.`;
      this.#keyFailed('foreign_key', new SvcError('foreign_key', message));
      return false;
    }
    const now = clock.now();
    const serverMs = now.wallMs - (this.#offsetMs ?? 0);
    await spool.update(({ state }) => {
      if (own === null) state.keepRobotId(robotId);
      fixBootEpochs(state, now, serverMs);
    });
    if (this.#state !== 'connected') {
      logger.info({ robot: robotId }, 'connected');
      this.#reason = null;
    }
    this.#state = 'connected';
    this.#refused = null;
    return true;
  }

  #succeeded(headers: Headers, tookMs: number): void {
    this.#retries.succeeded(CONNECTION);
    this.#allowMore();
    const serverMs = Date.parse(headers.get('date') ?? '');
    const known = Number.isNaN(serverMs) ? null : serverMs;
    this.rate.learn(headers, known);
    // The date header is cut to the second.
    if (known !== null) {
      this.#offsetMs = Math.round(this.#options.clock.now().wallMs - tookMs / 2 - known - 500);
    }
  }

  /** Records what the failure of a call, or of an item of a batch, means for other calls. `startedAt`: of the call. */
  failed(name: CallName, error: SvcError, startedAt: number): void {
    if (lacksBatches(name, error)) return;
    this.#noteError(error);
    const verdict = verdictOf(error);
    if (verdict === 'key') this.#keyFailed('key_refused', error);
    else if (verdict === 'unexpected' && name !== 'getOwnRobot') this.#answeredElsewhere(error);
    else if (verdict === 'link' || verdict === 'slow' || verdict === 'unexpected') {
      this.#serviceFailed(error, startedAt);
    } else this.#allowMore();
  }

  /** Only the next call for this robot shows whether the link or the record is the cause. */
  #answeredElsewhere(error: SvcError): void {
    this.doubt();
    if (isBusy(error)) this.#retries.hold(ASKED, retryAfterMs(error));
    this.#allowMore();
  }

  #allowMore(): void {
    this.#concurrent = Math.min(this.#concurrent + 1 / this.#concurrent, MAX_CONCURRENT);
  }

  #serviceFailed(error: SvcError, startedAt: number): void {
    this.#retries.hold(ASKED, retryAfterMs(error));
    // Calls under way together fail together and count as one failure.
    if (startedAt < this.#failedAt) return;
    this.#failedAt = performance.now();
    if (this.#underWay > 1) this.#concurrent = Math.max(1, this.#concurrent / 2);
    // A slow or too large record says nothing about other records.
    if (verdictOf(error) === 'slow' && error.code !== 'timed_out') return;
    this.#retries.failed(CONNECTION, this.pauses.lost);
    if (!isLost(error)) return;
    // The next call is a small one that tests the connection.
    this.#state = 'disconnected';
    // All connections are likely lost with one. Each would otherwise wait for its own time-out.
    // They are destroyed already if the agent stops.
    this.#connections.close().catch(() => {});
    this.#connections = openConnections(this.#options.serviceUrl);
  }

  #keyFailed(state: ServiceState, error: SvcError): void {
    const { code, message, hint } = error;
    if (this.#state !== state)
      this.#options.logger.error({ code, reason: message, hint }, 'key rejected');
    this.#state = state;
    this.#noteError(error);
    this.#retries.failed(CONNECTION, this.pauses.keyCheck);
  }

  #noteError(error: SvcError): void {
    const { code, message } = error;
    const at = new Date(this.#options.clock.now().wallMs).toISOString();
    this.#lastError = { code, message, at };
    if (!isLost(error) || message === this.#reason) return;
    this.#reason = message;
    this.#options.logger.warn({ code, reason: message }, 'call failed');
  }
}

/** Whether batches have no route: the service is of an earlier version, or a gateway does not let them through. */
export function lacksBatches(name: CallName, { code, details }: SvcError): boolean {
  const isUnknown = details.status === 404 || details.status === 405;
  return name === 'batchTasks' && code === 'unexpected_answer' && isUnknown;
}

/** Whether the answer asks for fewer calls: in any other, `Retry-After` says nothing about other records. */
function isBusy({ details }: SvcError): boolean {
  return details.status === 429 || details.status === 503;
}

/** The signal of each call limits its time. */
function openConnections(serviceUrl: string): Dispatcher {
  const options = { connections: MAX_CONCURRENT, headersTimeout: 0, bodyTimeout: 0 };
  return connectionsTo(serviceUrl, options);
}
