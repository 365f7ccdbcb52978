// Cookies and the Bearer key of a request.
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../protocol/limits.ts';

/** The Bearer token of a request, well-formed or not; null if there is none. */
export function bearerKey(request: FastifyRequest): string | null {
  return /^bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

const SESSION = 'svc_session';
const CHALLENGE = 'svc_challenge';

/** Sets and clears the two cookies of the service. `secure`: whether the service is reached over https. */
export function createCookies(secure: () => boolean) {
  const common = (): CookieSerializeOptions => ({
    httpOnly: true,
    sameSite: 'lax',
    secure: secure(),
  });
  const session = () => ({ ...common(), path: '/' });
  const challenge = () => ({ ...common(), path: '/api/auth' });
  return {
    setSession(reply: FastifyReply, token: string) {
      reply.setCookie(SESSION, token, {
        ...session(),
        maxAge: limits.sessionLifetimeMs / 1000,
      });
    },
    clearSession(reply: FastifyReply) {
      reply.clearCookie(SESSION, session());
    },
    setChallenge(reply: FastifyReply, nonce: string) {
      reply.setCookie(CHALLENGE, nonce, {
        ...challenge(),
        maxAge: limits.challengeLifetimeMs / 1000,
      });
    },
    clearChallenge(reply: FastifyReply) {
      reply.clearCookie(CHALLENGE, challenge());
    },
  };
}

/** Token of the session cookie, or null. */
export function sessionToken(request: FastifyRequest): string | null {
  return request.cookies[SESSION] || null;
}

/** Nonce of the challenge cookie, or null. */
export function challengeNonce(request: FastifyRequest): string | null {
  return request.cookies[CHALLENGE] || null;
}
