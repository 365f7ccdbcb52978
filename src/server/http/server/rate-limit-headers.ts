// Sets the rate-limit headers, and refuses calls above the limit.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../protocol/limits.ts';
import type { Route } from '../../../protocol/route.ts';
import { wireError } from '../../ports/errors.ts';
import type { RateCount } from '../../ports/sign-in.ts';

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
  const message = `The limit is ${count.limit} ${counted} per minute. Retry in ${retryAfter} s.`;
  throw wireError('rate_limited', message, { details: { retry_after: retryAfter } });
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
