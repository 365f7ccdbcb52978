import type { FastifyReply } from 'fastify';
import { limits } from '../../protocol/limits.ts';
import type { Route } from '../../protocol/route.ts';
import { fault } from '../core/fault.ts';
import type { RateCount } from '../core/ports.ts';

/**
 * What `X-RateLimit-Limit` says before anything is counted: the limit of the counter that the caller's calls
 * come under, whether this one is counted or not.
 */
export function nominalLimit(url: string, route: Route | undefined): number {
  if (route?.access === 'session') return limits.accountMutationsPerWindow;
  if (/^\/api\/auth(?:[/?]|$)/.test(url)) return limits.challengesPerWindow;
  return limits.unmeteredPerWindow;
}

export function putRateHeaders(reply: FastifyReply, limit: number, remaining: number): void {
  reply.header('x-ratelimit-limit', String(limit));
  reply.header('x-ratelimit-remaining', String(remaining));
}

/** Puts the count into the answer's headers. Throws `rate_limited` when the call is one too many. */
export function applyCount(reply: FastifyReply, count: RateCount): void {
  putRateHeaders(reply, count.limit, count.allowed ? count.remaining : 0);
  if (count.allowed) return;
  const retryAfter = Math.max(1, Math.ceil(count.resetMs / 1000));
  throw fault(
    'rate_limited',
    `At most ${count.limit} calls a minute are taken; try again in ${retryAfter} s.`,
    { details: { retry_after: retryAfter } },
  );
}
