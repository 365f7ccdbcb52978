// Routes that hand a browser's session to the CLI.
import { Type } from 'typebox';
import { Address, Closed, Timestamp } from '../fields.ts';
import { limits } from '../limits.ts';
import type { Route } from '../route.ts';

/** Base64url of 32 bytes, whose last character carries 4 bits. */
const Base64Url256 = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$', description });

/** How a browser session gives the command line one of its own: PKCE (RFC 7636), S256 only. */
export const cliSignInRoutes = {
  authorizeCli: {
    method: 'POST',
    path: '/api/auth/cli/authorize',
    summary: "Make a code, for 60 s and one use, that opens a command line's own session",
    description:
      'Needs an Origin header that is exactly the origin of the service. The session must be one that a wallet signed for; the code ends with it.',
    access: 'session',
    limit: 'account',
    ownOriginOnly: true,
    body: Closed({
      challenge: Base64Url256('base64url of the SHA-256 of the verifier, 43 characters'),
      challenge_method: Type.Optional(Type.Literal('S256', { description: 'S256, nothing else' })),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 201: Closed({ code: Base64Url256('256 random bits'), expires_at: Timestamp }) },
    errors: ['wallet_session_required'],
  },
  redeemCliCode: {
    method: 'POST',
    path: '/api/auth/cli/token',
    summary: 'Open a session with a code and its verifier; the first try spends the code',
    description:
      'PKCE (RFC 7636) with S256 only. The token is a session of its own, listed and revoked apart.',
    access: 'public',
    limit: 'none',
    body: Closed({
      code: Base64Url256('the code as it was answered, 43 characters'),
      verifier: Type.String({
        pattern: '^[A-Za-z0-9._~-]{43,128}$',
        description: 'the text whose hash the challenge was, 43 to 128 characters',
      }),
    }),
    maxBody: limits.smallBodyBytes,
    fieldErrors: { code: 'invalid_code', verifier: 'invalid_code' },
    responses: {
      200: Closed({
        token: Type.String({
          pattern: '^[0-9a-f]{64}$',
          description: 'for the cookie svc_session',
        }),
        wallet: Address,
        expires_at: Timestamp,
      }),
    },
    errors: ['invalid_code'],
  },
} as const satisfies Record<string, Route>;
