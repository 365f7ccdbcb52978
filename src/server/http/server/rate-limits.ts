// Checks and headers of every request before authentication, and rate limits.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../protocol/limits.ts';
import type { Route } from '../../../protocol/route.ts';
import { routes } from '../../../protocol/routes.ts';
import type { Deps } from '../../core/deps.ts';
import { wireError } from '../../ports/errors.ts';
import type { RateCount } from '../../ports/rate-count.ts';
import { bearerKey } from './credentials.ts';

/**
 * First look at every request, before authentication: headers that each answer carries, whether there
 * is such a route, and whether another site made a browser send it.
 */
export function createAdmission(deps: Deps) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { route, page } = request.routeOptions.config;
    putCommonHeaders(request, reply);
    if (route?.cors) reply.header('access-control-allow-origin', '*');
    if (page) return;
    if (route === undefined) throw wireError('not_found', 'There is no such endpoint.');
    const { origin } = request.headers;
    if (origin === undefined && !route.ownOriginOnly) return;
    const ownOrigin = new URL(deps.settings.baseUrl).origin;
    if (route.ownOriginOnly && origin !== ownOrigin) {
      throw wireError('forbidden_origin', 'Only a page of this service may ask for this.');
    }
    if (route.method !== 'GET' && origin !== ownOrigin) {
      // A browser never adds a Bearer key by itself, but only where it decides does it rule out the cookie.
      const keyDecides = route.access === 'robot' || route.access === 'robot_or_session';
      if (keyDecides && bearerKey(request) !== null) return;
      throw wireError('forbidden_origin', 'Requests from other sites are not taken here.');
    }
  };
}

/**
 * The route that a GET whose path cannot be decoded was meant for, if any origin may read its answers: the
 * router finds none then, and a browser would show the page nothing of the error.
 */
export function openRouteOf({ method, url }: FastifyRequest): Route | undefined {
  const parts = (url.split('?', 1)[0] ?? '').split('/');
  return Object.values<Route>(routes).find((route) => {
    const expected = route.path.split('/');
    return (
      route.cors &&
      route.method === method &&
      expected.length === parts.length &&
      expected.every((part, i) => part.startsWith(':') || part === parts[i])
    );
  });
}

/** On every answer, those to unknown routes and malformed requests included. */
export function putCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  const limit = nominalLimit(request.url, request.routeOptions.config?.route);
  putRateHeaders(reply, limit, limit);
  reply.header('x-request-id', request.id);
  reply.header('cache-control', 'no-store');
  reply.header('x-content-type-options', 'nosniff');
}

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
  throw wireError(
    'rate_limited',
    `At most ${count.limit} calls a minute are taken; try again in ${retryAfter} s.`,
    { details: { retry_after: retryAfter } },
  );
}
