// Cookies and the Bearer key of a request.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../../protocol/limits.ts';

/** The Bearer token of a request, well-formed or not; null if there is none. */
export function bearerKey(request: FastifyRequest): string | null {
  return /^bearer +(\S.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

/** A sentence about an Authorization header of another scheme, or of none, for messages; empty without such a header. */
export function schemeProblem(request: FastifyRequest): string {
  const { authorization } = request.headers;
  return authorization ? 'The Authorization header must begin with "Bearer ". ' : '';
}

/** Compares in constant time. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

const SESSION = 'svc_session';
const CHALLENGE = 'svc_challenge';
const DEVICE = 'svc_device';

/** Browsers keep no cookie for longer. */
const DEVICE_SECONDS = 400 * 24 * 60 * 60;

/** Sets and clears the cookies of the service. `secure`: whether the service is reached over https. */
export function createCookies(secure: () => boolean) {
  const common = (): CookieSerializeOptions => ({
    httpOnly: true,
    sameSite: 'lax',
    secure: secure(),
  });
  const session = () => ({ ...common(), path: '/' });
  const signIn = () => ({ ...common(), path: '/api/auth' });
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
    setChallenge(reply: FastifyReply, message: string) {
      const maxAge = limits.challengeLifetimeMs / 1000;
      reply.setCookie(CHALLENGE, message, { ...signIn(), maxAge });
    },
    clearChallenge(reply: FastifyReply) {
      reply.clearCookie(CHALLENGE, signIn());
    },
    setDevice(reply: FastifyReply, device: string) {
      reply.setCookie(DEVICE, device, { ...signIn(), maxAge: DEVICE_SECONDS });
    },
  };
}

/** Token of the session cookie, or null: also where cookies are not read, as for pages. */
export function sessionToken(request: FastifyRequest): string | null {
  return request.cookies?.[SESSION] || null;
}

/** The message in the challenge cookie, and the cookie of a device on which a wallet signed in before. */
export function signInCookies({ cookies }: FastifyRequest) {
  return { message: cookies[CHALLENGE] || null, device: cookies[DEVICE] || null };
}
