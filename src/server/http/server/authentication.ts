// Authenticates a call by API key or session cookie, and counts it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../core/deps.ts';
import { authenticateRobot } from '../../core/robots.ts';
import { authenticateSession } from '../../core/sessions.ts';
import { wireError } from '../../ports/errors.ts';
import type { Access, Callers } from './call.ts';
import { bearerKey, sessionToken } from './credentials.ts';
import { applyCount, putRateHeaders } from './rate-limits.ts';
import { sourceOf } from './sources.ts';
import { countRobot } from './unmatched.ts';

/** The account of a request; for a stranger's the source. */
export function accountOf({ caller, ip }: FastifyRequest): string {
  return caller && 'wallet' in caller ? caller.wallet : sourceOf(ip);
}

type Authenticate<Kind extends Access> = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Callers[Kind]>;

/** Authenticators by kind of access. They count the call if its route is metered, and never read the body. */
export function createAuthenticators(deps: Deps): { [Kind in Access]: Authenticate<Kind> } {
  const robot: Authenticate<'robot'> = async (request, reply) => {
    const apiKey = bearerKey(request);
    if (apiKey === null) {
      throw wireError(
        'missing_api_key',
        'Send the robot API key as "Authorization: Bearer svc_…".',
      );
    }
    const found = await authenticateRobot(deps, apiKey);
    applyCount(reply, found.count);
    return found.robot;
  };
  const session: Authenticate<'session'> = async (request, reply) => {
    const token = sessionToken(request);
    if (bearerKey(request) !== null) {
      await countRobot(deps, request, reply);
      throw wireError(
        'missing_session',
        'This endpoint accepts no API key. Sign in and send the session cookie alone.',
      );
    }
    if (token === null)
      throw wireError('missing_session', 'No session cookie was sent. Sign in first.');
    const counted = request.routeOptions.config.route?.limit === 'account';
    const found = await authenticateSession(deps, token, counted);
    if (counted) applyCount(reply, found.count);
    else putRateHeaders(reply, found.count);
    return found.session;
  };
  return {
    public: async () => undefined,
    robot,
    session,
    robot_or_session: async (request, reply) => {
      if (bearerKey(request) === null && sessionToken(request) !== null) {
        return { wallet: (await session(request, reply)).wallet };
      }
      const { id, wallet } = await robot(request, reply);
      return { robotId: id, wallet };
    },
  };
}
