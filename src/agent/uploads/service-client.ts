import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import { type Client, createClient, type Input } from '../../client/client.ts';
import { createHttpFetch } from '../../client/http-fetch.ts';
import type { Answer, RouteName } from '../../protocol/routes.ts';
import type { AgentClock } from '../clock.ts';
import { type KeySource, keyHint, keyVersion, readKey } from '../key.ts';
import type { Spool } from '../spool/spool.ts';
import { RateBudget } from './rate-budget.ts';
import {
  callError,
  isLost,
  Retries,
  type RetryRange,
  retryAfterMs,
  type UploaderPauses,
  verdictOf,
} from './retry.ts';
import { fixBootEpochs } from './time.ts';

export interface ServiceClientOptions {
  readonly serviceUrl: string;
  readonly key: KeySource;
  readonly spool: Spool;
  readonly clock: AgentClock;
  readonly logger: Logger;
  readonly pauses: UploaderPauses;
}

/** How far the agent has come with the service. */
export type ServiceState =
  /** Not asked yet, or no answer came. */
  | 'disconnected'
  /** The key is the robot's, and the service answers. */
  | 'connected'
  | 'key_unusable'
  | 'key_refused'
  /** The key is another robot's than the records. */
  | 'foreign_key';

/** Time for an answer; beside it each 500 bytes of a body have a second. */
const ANSWER_MS = 60_000;
const COMPLETION_MS = 120_000;

/** A key that was refused is tried again, for the service may have been restored. */
const SAME_KEY_MS = 15 * 60_000;

const CONNECTION = 'connection';
/** What the service asked to wait: an answer to a call from before does not end it, as it ends the agent's own wait. */
const ASKED = 'asked';

/** Calls under way at once. */
const MAX_CONCURRENT = 32;

/** Speaks with the service as the robot: key, identity, pace, and when to try again. */
export class ServiceClient {
  readonly rate = new RateBudget();
  readonly pauses: UploaderPauses;
  readonly #options: ServiceClientOptions;
  readonly #retries = new Retries();
  readonly #fetch: typeof fetch;
  readonly #agents = {
    http: new HttpAgent({ keepAlive: true, maxSockets: MAX_CONCURRENT }),
    https: new HttpsAgent({ keepAlive: true, maxSockets: MAX_CONCURRENT }),
  };
  #client: Client | null = null;
  #state: ServiceState = 'disconnected';
  #refused: { key: string; at: number } | null = null;
  #hint: string | null = null;
  #lastError: { code: string; message: string; at: number } | null = null;
  #offsetMs: number | null = null;
  #keySeen: string | null = null;
  #lookedAt = 0;
  /**
   * Calls that may be under way, with a fraction: halved where one of several took too long, so that fewer share a slow
   * line, and one more after as many answers as there were calls at once.
   */
  #concurrent = MAX_CONCURRENT;
  #underWay = 0;
  #failedAt = 0;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
    this.pauses = options.pauses;
    this.#fetch = createHttpFetch(this.#agents);
  }

  get state(): ServiceState {
    return this.#state;
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
      last_error: this.#lastError && {
        code: this.#lastError.code,
        message: this.#lastError.message,
        at: new Date(this.#lastError.at).toISOString(),
      },
      clock: { now: new Date(wallMs).toISOString(), ahead_of_service_ms: this.#offsetMs },
    };
  }

  /** Between two tries of what failed so. */
  retryRange(error: SvcError): RetryRange {
    return isLost(error) ? this.pauses.lost : this.pauses.usual;
  }

  /** Whether one more call would be too many; the end of any changes that. */
  get isFull(): boolean {
    return this.#underWay >= Math.floor(this.#concurrent);
  }

  /** Milliseconds until the service may be asked; 0 for now. */
  waitMs(): number {
    const [own, asked] = [this.#retries.waitMs(CONNECTION), this.#retries.waitMs(ASKED)];
    return Math.max(own, asked, this.rate.waitMs());
  }

  /** Reads the key and asks the service whose it is. Resolves whatever the outcome; `state` has it. */
  async connect(): Promise<void> {
    let key: string;
    this.#keySeen = await keyVersion(this.#options.key);
    try {
      key = await readKey(this.#options.key);
    } catch (error) {
      this.#keyFailed('key_unusable', error as SvcError);
      return;
    }
    if (this.#isStillRefused(key)) {
      this.#retries.failed(CONNECTION, this.pauses.keyCheck);
      return;
    }
    this.#hint = keyHint(key);
    const { serviceUrl: baseUrl } = this.#options;
    this.#client = createClient({ baseUrl, fetch: this.#fetch, credential: { apiKey: key } });
    try {
      this.rate.take();
      const { robot } = (await this.call('getOwnRobot')).body;
      await this.#identify(robot.id, key);
    } catch (error) {
      const known = callError(error);
      if (verdictOf(known) === 'key') this.#refused = { key, at: performance.now() };
      // Whatever it was, it is not asked again at once.
      else if (this.#retries.waitMs(CONNECTION) === 0)
        this.#retries.failed(CONNECTION, this.pauses.usual);
    }
  }

  /**
   * One call, which the caller has taken from the pace. Rejects with a SvcError, `timed_out` among them; what it
   * means for other calls is noted here.
   */
  async call<Name extends RouteName>(
    name: Name,
    ...[input]: Record<never, never> extends Input<Name> ? [Input<Name>?] : [Input<Name>]
  ): Promise<Answer<Name> & { headers: Headers }> {
    if (this.#client === null) throw new SvcError('service_unreachable', 'Not connected yet.');
    const base = name === 'completeTask' ? COMPLETION_MS : ANSWER_MS;
    const { body } = (input ?? {}) as { body?: unknown };
    const size = body === undefined ? 0 : JSON.stringify(body).length;
    const signal = AbortSignal.timeout(base + 2 * size);
    const startedAt = performance.now();
    this.#underWay += 1;
    try {
      // The signal is a member that every input may have.
      const answer = await this.#client.call(name, { ...input, signal } as never);
      this.#succeeded(answer.headers, performance.now() - startedAt);
      return answer;
    } catch (error) {
      const known = callError(error, signal);
      this.#failed(known, startedAt);
      throw known;
    } finally {
      this.#underWay -= 1;
    }
  }

  /** Whether the key's file is another than when it was read; then the service is asked anew, at once. */
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
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  async #identify(robotId: string, key: string): Promise<void> {
    const { spool, clock, logger } = this.#options;
    const own = spool.read(({ state }) => state.robotId());
    if (own !== null && own !== robotId) {
      this.#refused = { key, at: performance.now() };
      const message = `The key is of robot ${robotId}, the records are of ${own}.`;
      this.#keyFailed('foreign_key', new SvcError('foreign_key', message));
      return;
    }
    const now = clock.now();
    const serverMs = now.wallMs - (this.#offsetMs ?? 0);
    await spool.update(({ state }) => {
      if (own === null) state.keepRobotId(robotId);
      fixBootEpochs(state, now, serverMs);
    });
    if (this.#state !== 'connected') logger.info({ robot: robotId }, 'connected');
    this.#state = 'connected';
    this.#refused = null;
  }

  #isStillRefused(key: string): boolean {
    const refused = this.#refused;
    return refused !== null && refused.key === key && performance.now() - refused.at < SAME_KEY_MS;
  }

  #succeeded(headers: Headers, tookMs: number): void {
    this.#retries.succeeded(CONNECTION);
    this.#allowMore();
    const serverMs = Date.parse(headers.get('date') ?? '');
    const known = Number.isNaN(serverMs) ? null : serverMs;
    this.rate.learn(headers, known);
    // The header is cut to the second.
    if (known !== null) {
      this.#offsetMs = Math.round(this.#options.clock.now().wallMs - tookMs / 2 - known - 500);
    }
  }

  #failed(error: SvcError, startedAt: number): void {
    const { code, message } = error;
    this.#lastError = { code, message, at: this.#options.clock.now().wallMs };
    const verdict = verdictOf(error);
    if (verdict === 'key') this.#keyFailed('key_refused', error);
    else if (verdict === 'link' || verdict === 'slow') this.#serviceFailed(error, startedAt);
    else this.#allowMore();
  }

  #allowMore(): void {
    this.#concurrent = Math.min(this.#concurrent + 1 / this.#concurrent, MAX_CONCURRENT);
  }

  #serviceFailed(error: SvcError, startedAt: number): void {
    this.#retries.hold(ASKED, retryAfterMs(error));
    // Calls that were under way together fail together: that is one failure.
    if (startedAt < this.#failedAt) return;
    this.#failedAt = performance.now();
    if (this.#underWay > 1) this.#concurrent = Math.max(1, this.#concurrent / 2);
    // That a record came too slowly, or was too large, says nothing of others.
    if (verdictOf(error) === 'slow' && error.code !== 'timed_out') return;
    this.#retries.failed(CONNECTION, this.pauses.usual);
    if (!isLost(error)) return;
    // The next call is a small one, which tells whether others make sense.
    if (this.connected)
      this.#options.logger.warn({ code: error.code }, 'the service does not answer');
    this.#state = 'disconnected';
    this.#dropIdleConnections();
  }

  /** What was lost with one connection is lost with all that were open then; each would wait for its time-out anew. */
  #dropIdleConnections(): void {
    const idle = Object.values(this.#agents).flatMap(({ freeSockets }) =>
      Object.values(freeSockets).flat(),
    );
    for (const socket of idle) socket?.destroy();
  }

  #keyFailed(state: ServiceState, { code, message, hint }: SvcError): void {
    if (this.#state !== state) this.#options.logger.error({ code, hint }, message);
    this.#state = state;
    this.#lastError = { code, message, at: this.#options.clock.now().wallMs };
    this.#retries.failed(CONNECTION, this.pauses.keyCheck);
  }
}
