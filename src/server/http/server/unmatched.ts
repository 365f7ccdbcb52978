// Requests without a handler: OPTIONS, other methods of a path, and unknown paths.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import type { Route } from '../../../protocol/route.ts';
import { allowedMethods, routesAt } from '../../../protocol/routes-at.ts';
import { wireError } from '../../ports/errors.ts';
import { bearerKey } from './credentials.ts';
import { applyCount, putOpenHeaders } from './rate-limits.ts';
import { type HttpDeps, lookUpRobot } from './strangers.ts';

/**
 * Answers `OPTIONS` with 204, also to the preflight of a browser. Throws `rate_limited`,
 * `method_not_allowed` and `not_found`.
 */
export async function answerUnmatched(
  deps: HttpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const found = await countUnmatched(deps, request, reply);
  if (found.length === 0) throw wireError('not_found', 'This endpoint does not exist.');
  const allowed = allowedMethods(found);
  reply.header('allow', allowed);
  if (request.method !== 'OPTIONS') {
    throw wireError('method_not_allowed', `This endpoint allows ${allowed}.`);
  }
  if (found.some(({ cors }) => cors)) {
    putOpenHeaders(reply);
    reply.header('access-control-allow-methods', allowed);
    reply.header('access-control-allow-headers', 'If-None-Match, X-Request-Id');
    reply.header('access-control-max-age', '86400');
  }
  reply.status(204).send();
}

/** Whether a browser opens an unknown path as a page. */
export function opensPage({ method, url, headers, routeOptions }: FastifyRequest): boolean {
  const { route, page } = routeOptions.config;
  if (route || page || !/^(?:GET|HEAD)$/.test(method)) return false;
  if (!headers.accept?.startsWith('text/html')) return false;
  return !/^\/(?:api|\.well-known)(?:[/?]|$)/.test(url) && routesAt(url).length === 0;
}

/** Counts the call if it has a valid robot key and the path is not public. Returns the routes of the path. */
export async function countUnmatched(
  deps: HttpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Route[]> {
  const found = routesAt(request.url);
  if (!found.some(({ access }) => access === 'public')) await countRobot(deps, request, reply);
  return found;
}

/** Counts the call if it has a valid robot key. Throws `rate_limited`. */
export async function countRobot(
  deps: HttpDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const apiKey = /^\/api\/v1(?:[/?]|$)/.test(request.url) ? bearerKey(request) : null;
  if (apiKey === null) return;
  try {
    applyCount(reply, (await lookUpRobot(deps, request, apiKey)).count);
  } catch (error) {
    if (!(error instanceof SvcError && error.code === 'invalid_api_key')) throw error;
  }
}
