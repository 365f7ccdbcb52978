// Checks every request before authentication, sets common headers, applies rate limits, and counts refusals.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../base/clock.ts';
import { SvcError } from '../../../base/svc-error.ts';
import type { ErrorCode } from '../../../protocol/errors.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Route } from '../../../protocol/route.ts';
import type { Deps } from '../../core/deps.ts';
import { isAccountToken } from '../../core/sessions.ts';
import { wireError } from '../../ports/errors.ts';
import type { RateCount } from '../../ports/sign-in.ts';
import { bearerKey } from './credentials.ts';

/**
 * Checks every request before authentication: whether another site made a browser send it. Also sets the headers that
 * each response carries.
 */
export function createAdmission(deps: Deps) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { route, page } = request.routeOptions.config;
    putCommonHeaders(request, reply);
    if (route?.cors) putOpenHeaders(reply);
    if (page || route === undefined) return;
    const { origin } = request.headers;
    if (origin === undefined && !route.ownOriginOnly) return;
    const ownOrigin = new URL(deps.settings.baseUrl).origin;
    if (route.ownOriginOnly && origin !== ownOrigin) {
      throw wireError('forbidden_origin', 'Only a page of this service may call this endpoint.');
    }
    if (route.method !== 'GET' && origin !== ownOrigin) {
      // A browser never adds a Bearer credential by itself. But the credential replaces the cookie only on routes where it
      // takes precedence.
      const bearer = bearerKey(request);
      const keyDecides = route.access === 'robot' || route.access === 'robot_or_session';
      if (keyDecides && bearer !== null) return;
      if (route.access === 'session' && isAccountToken(bearer)) return;
      throw wireError('forbidden_origin', 'This endpoint refuses requests from other sites.');
    }
  };
}

/** Lets pages of any origin read the response, with its headers. */
export function putOpenHeaders(reply: FastifyReply): void {
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-expose-headers', exposed);
}

const exposed =
  'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

/** Sets the headers of every response, including those for unknown routes and malformed requests. */
export function putCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  const limit = nominalLimit(request.url, request.routeOptions.config?.route);
  putRateHeaders(reply, { limit, remaining: limit, resetMs: limits.windowMs });
  reply.header('x-request-id', request.id);
  reply.header('cache-control', 'private, no-store');
  reply.header('x-content-type-options', 'nosniff');
}

export function putRateHeaders(
  reply: FastifyReply,
  { limit, remaining, resetMs }: Omit<RateCount, 'allowed'>,
): void {
  reply.header('x-ratelimit-limit', String(limit));
  reply.header('x-ratelimit-remaining', String(remaining));
  reply.header('x-ratelimit-reset', String(secondsOf(resetMs)));
}

const secondsOf = (ms: number) => Math.max(1, Math.ceil(ms / 1000));

/** Sets the rate-limit headers. Throws `rate_limited` if the call exceeds the limit. */
export function applyCount(reply: FastifyReply, count: RateCount, counted = 'requests'): void {
  putRateHeaders(reply, { ...count, remaining: count.allowed ? count.remaining : 0 });
  if (count.allowed) return;
  const retryAfter = secondsOf(count.resetMs);
  throw wireError(
    'rate_limited',
    `The limit is ${count.limit} ${counted} per minute. Retry in ${retryAfter} s.`,
    { details: { retry_after: retryAfter } },
  );
}

/**
 * The value of `X-RateLimit-Limit` before anything is counted: the limit that applies to the caller's calls, whether or
 * not this one is counted.
 */
function nominalLimit(url: string, route: Route | undefined): number {
  if (route?.access === 'session') return limits.accountMutationsPerWindow;
  if (/^\/api\/auth(?:[/?]|$)/.test(url)) return limits.challengesPerWindow;
  return limits.unmeteredPerWindow;
}

const HOUR_MS = 60 * 60_000;
/** Strangers choose their addresses, so the rest of an hour's callers are not counted. */
const CALLERS = 10_000;
const LISTED = 100;

/** Whether an error says that the caller has used up what it may have. */
export function isRefusal(error: unknown): error is SvcError<ErrorCode> {
  return error instanceof SvcError && codes.has(error.code);
}

const codes: ReadonlySet<string> = new Set([
  'account_suspended',
  'no_anchor_quota',
  'no_gas_credit',
  'overloaded',
  'rate_limited',
  'storage_quota',
]);

/** Counts of this hour and the one before, on this instance. */
export class Refusals {
  readonly #clock: Clock;
  #startedAt: number;
  #now = new Map<string, number>();
  #before = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** `caller`: a wallet, or the prefix of an address. */
  add(caller: string): void {
    this.#turn();
    const count = this.#now.get(caller);
    if (count === undefined && this.#now.size >= CALLERS) return;
    this.#now.set(caller, (count ?? 0) + 1);
  }

  /** Most refused first. `since`: when the counts began. */
  list(): { since: number; items: { caller: string; refused: number }[] } {
    this.#turn();
    const sums = new Map(this.#before);
    for (const [caller, count] of this.#now) sums.set(caller, (sums.get(caller) ?? 0) + count);
    const items = [...sums]
      .map(([caller, refused]) => ({ caller, refused }))
      .sort((a, b) => b.refused - a.refused)
      .slice(0, LISTED);
    return { since: this.#startedAt - (this.#before.size > 0 ? HOUR_MS : 0), items };
  }

  #turn(): void {
    const age = this.#clock.now() - this.#startedAt;
    if (age < HOUR_MS && age >= 0) return;
    this.#before = age < 2 * HOUR_MS ? this.#now : new Map();
    this.#now = new Map();
    this.#startedAt = this.#clock.now();
  }
}
