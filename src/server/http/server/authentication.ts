// Authenticates a call by API key, account token or session cookie, and counts it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../../../protocol/route.ts';
import type { TokenScope } from '../../../protocol/tokens.ts';
import type { Deps } from '../../core/deps.ts';
import { accountSuspended, authenticateSession, isAccountToken } from '../../core/sessions.ts';
import type { Actor } from '../../ports/account.ts';
import { wireError } from '../../ports/errors.ts';
import type { Callers } from './call.ts';
import { bearerKey, schemeProblem, sessionToken } from './credentials.ts';
import { applyCount, putRateHeaders } from './rate-limit-headers.ts';
import { addressOf, type HttpDeps, lookUpRobot, sourceOf } from './strangers.ts';
import { countRobot } from './unmatched.ts';

/** The caller's account; undefined for an anonymous caller. */
export function walletOf({ caller }: FastifyRequest): string | undefined {
  return caller && 'wallet' in caller ? caller.wallet : undefined;
}

/** The account of a request, or the address prefix if it has none. */
export function accountOf(request: FastifyRequest): string {
  return walletOf(request) ?? sourceOf(request.ip);
}

/** The caller for the audit log: it has a session, or is about to open or end one. */
export function actorOf({ clock }: Deps, { ip }: FastifyRequest): Actor {
  return { actor: 'session', actor_name: null, source: addressOf(ip), at: clock.now() };
}

/** Throws `insufficient_scope`. */
function requireScope(scope: TokenScope, route: Route): void {
  if (!route.sessionOnly && (route.method === 'GET' || scope === 'write')) return;
  throw wireError(
    'insufficient_scope',
    route.sessionOnly
      ? 'An account token cannot do this. Sign in with the wallet.'
      : 'The account token has the scope read. Use one with the scope write.',
  );
}

/** Throws `account_suspended`. */
function requireActive(isSuspended: boolean, request: FastifyRequest): void {
  if (!isSuspended) return;
  const { method, isRead } = request.routeOptions.config.route ?? {};
  if (method !== 'GET' && !isRead) throw accountSuspended();
}

type Authenticate<Kind extends Route['access']> = (
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Callers[Kind]>;

/** Authenticators by kind of access. They count the call if its route is metered, and never read the body. */
export function createAuthenticators(deps: HttpDeps): {
  [Kind in Route['access']]: Authenticate<Kind>;
} {
  const robot: Authenticate<'robot'> = async (request, reply) => {
    const apiKey = bearerKey(request);
    if (apiKey === null) {
      throw wireError(
        'missing_api_key',
        schemeProblem(request) +
          (request.routeOptions.config.route?.access === 'robot_or_session'
            ? 'Send a robot API key or an account token as "Authorization: Bearer …", or sign in.'
            : 'Send the robot API key as "Authorization: Bearer svc_…".'),
      );
    }
    const { robot, count } = await lookUpRobot(deps, request, apiKey);
    applyCount(reply, count);
    requireActive(robot.isSuspended, request);
    return robot;
  };
  const session: Authenticate<'session'> = async (request, reply) => {
    const { route } = request.routeOptions.config;
    const bearer = bearerKey(request);
    const orToken = route?.sessionOnly
      ? ''
      : ', or send an account token as "Authorization: Bearer svct_…"';
    if (bearer !== null && !isAccountToken(bearer)) {
      await countRobot(deps, request, reply);
      const message = `This endpoint accepts no API key. Sign in and send the session cookie alone${orToken}.`;
      throw wireError('missing_session', message);
    }
    const token = bearer ?? sessionToken(request);
    if (token === null) {
      const problem = `${schemeProblem(request)}No session cookie was sent.`;
      throw wireError('missing_session', `${problem} Sign in first${orToken}.`);
    }
    const counted = route?.limit === 'account';
    // A call that the scope refuses must not use up the calls of the account.
    const isToken = isAccountToken(token);
    const first = await deps.strangersWork.lookUp(
      request,
      token,
      () => authenticateSession(deps, token, counted && !isToken),
      ({ session: { wallet } }) => wallet,
    );
    const { name, scope } = first.session;
    if (scope !== null && route) requireScope(scope, route);
    const { session, count } =
      counted && isToken ? await authenticateSession(deps, token, true) : first;
    if (counted) applyCount(reply, count, 'requests that change something');
    else putRateHeaders(reply, count);
    requireActive(session.isSuspended, request);
    const by = actorOf(deps, request);
    if (scope === null) return { ...session, by };
    return { ...session, by: { ...by, actor: 'token', actor_name: name } };
  };
  return {
    public: async () => undefined,
    robot,
    session,
    robot_or_session: async (request, reply) => {
      const bearer = bearerKey(request);
      if (isAccountToken(bearer) || (bearer === null && sessionToken(request) !== null)) {
        return { wallet: (await session(request, reply)).wallet };
      }
      const { id, wallet } = await robot(request, reply);
      return { robotId: id, wallet };
    },
  };
}
