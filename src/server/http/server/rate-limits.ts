// Checks every request before authentication, sets common headers, and applies rate limits.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../protocol/limits.ts';
import type { Route } from '../../../protocol/route.ts';
import type { Deps } from '../../core/deps.ts';
import { isAccountToken } from '../../core/sessions.ts';
import { wireError } from '../../ports/errors.ts';
import type { RateCount } from '../../ports/rate-count.ts';
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
export function applyCount(reply: FastifyReply, count: RateCount): void {
  putRateHeaders(reply, { ...count, remaining: count.allowed ? count.remaining : 0 });
  if (count.allowed) return;
  const retryAfter = secondsOf(count.resetMs);
  throw wireError(
    'rate_limited',
    `The limit is ${count.limit} requests per minute. Retry in ${retryAfter} s.`,
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
