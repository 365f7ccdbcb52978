// Answers requests that match no route, and counts them.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import type { Route } from '../../../protocol/route.ts';
import { allowedMethods, routesAt } from '../../../protocol/routes.ts';
import { wireError } from '../../ports/errors.ts';
import { bearerKey } from './credentials.ts';
import { putOpenHeaders, putPreflightHeaders } from './cross-origin.ts';
import { answerError } from './errors.ts';
import { applyCount, putCommonHeaders } from './rate-limit-headers.ts';
import { type HttpDeps, lookUpRobot } from './strangers.ts';

/** Answers a request that the router refuses, such as one with an undecodable path. No hook has seen it. */
export async function answerUnroutable(
  deps: HttpDeps,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  putCommonHeaders(request, reply);
  if (openRouteOf(request)) putOpenHeaders(reply);
  const counted = countUnmatched(deps, request, reply);
  await counted.then(
    () => answerError(error, request, reply),
    (refusal) => answerError(refusal, request, reply),
  );
}

/**
 * The route of a GET with an undecodable path, if any origin may read its responses. The router finds no route for such
 * a path, and without CORS headers a browser would hide the error from the page.
 */
function openRouteOf({ method, url }: FastifyRequest): Route | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  return routesAt(url).find(({ cors }) => cors);
}

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
  if (found.some(({ cors }) => cors)) putPreflightHeaders(reply, allowed);
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
async function countUnmatched(
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
