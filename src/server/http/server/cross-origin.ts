// Refuses requests that another site made a browser send, and lets pages of any origin read public responses.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../core/deps.ts';
import { isAccountToken } from '../../core/sessions.ts';
import { wireError } from '../../ports/errors.ts';
import { bearerKey } from './credentials.ts';

/** Throws `forbidden_origin` if another site made a browser send the request. */
export function requireOwnOrigin(
  request: FastifyRequest,
  { baseUrl }: Pick<Deps['settings'], 'baseUrl'>,
): void {
  const { route, page } = request.routeOptions.config;
  if (page || route === undefined) return;
  const { origin } = request.headers;
  if (origin === undefined && !route.ownOriginOnly) return;
  const ownOrigin = new URL(baseUrl).origin;
  if (route.ownOriginOnly && origin !== ownOrigin) {
    throw wireError('forbidden_origin', 'Only a page of this service may call this endpoint.');
  }
  if (route.method === 'GET' || origin === ownOrigin) return;
  // A browser never adds a Bearer credential by itself. But the credential replaces the cookie only on routes where it
  // takes precedence.
  const bearer = bearerKey(request);
  const keyDecides = route.access === 'robot' || route.access === 'robot_or_session';
  if (keyDecides && bearer !== null) return;
  if (route.access === 'session' && isAccountToken(bearer)) return;
  throw wireError('forbidden_origin', 'This endpoint refuses requests from other sites.');
}

/** Lets pages of any origin read the response, with its headers. */
export function putOpenHeaders(reply: FastifyReply): void {
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-expose-headers', exposed);
}

const exposed =
  'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

/** The headers of the answer to a browser's preflight. */
export function putPreflightHeaders(reply: FastifyReply, allowedMethods: string): void {
  putOpenHeaders(reply);
  reply.header('access-control-allow-methods', allowedMethods);
  reply.header('access-control-allow-headers', 'If-None-Match, X-Request-Id');
  reply.header('access-control-max-age', '86400');
}
