// Routes that hand a browser's session to the CLI.
import { Type } from 'typebox';
import { Address, Closed, Timestamp } from '../fields.ts';
import { limits } from '../limits.ts';
import type { Route } from '../route.ts';

/** Base64url of 32 bytes, whose last character carries 4 bits. */
const Base64Url256 = (description: string) =>
  Type.String({ pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$', description });

/** A browser session opens another session for the command line: PKCE (RFC 7636), S256 only. */
export const cliSignInRoutes = {
  authorizeCli: {
    method: 'POST',
    path: '/api/auth/cli/authorize',
    summary: 'Create a single-use code, valid for 60 s, that opens a session for the command line',
    description:
      'The Origin header must be the origin of the service. The session must have been opened with a wallet signature. The code ends with the session.',
    access: 'session',
    limit: 'account',
    ownOriginOnly: true,
    body: Closed({
      challenge: Base64Url256(
        'PKCE code challenge (RFC 7636): SHA-256 of the verifier in base64url, 43 characters',
      ),
      challenge_method: Type.Optional(Type.Literal('S256', { description: 'always S256' })),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 201: Closed({ code: Base64Url256('256 random bits'), expires_at: Timestamp }) },
    errors: ['wallet_session_required'],
  },
  redeemCliCode: {
    method: 'POST',
    path: '/api/auth/cli/token',
    summary: 'Open a session with a code and its verifier; the first attempt uses up the code',
    description:
      'PKCE (RFC 7636) with S256 only. The new session has its own entry in the list of sessions, and is revoked separately.',
    access: 'public',
    limit: 'none',
    body: Closed({
      code: Base64Url256('the complete code, 43 characters'),
      verifier: Type.String({
        pattern: '^[A-Za-z0-9._~-]{43,128}$',
        description: 'the text whose SHA-256 is the challenge, 43 to 128 characters',
      }),
    }),
    maxBody: limits.smallBodyBytes,
    fieldErrors: { code: 'invalid_code', verifier: 'invalid_code' },
    responses: {
      200: Closed({
        token: Type.String({
          pattern: '^[0-9a-f]{64}$',
          description: 'the value of the cookie svc_session',
        }),
        wallet: Address,
        expires_at: Timestamp,
      }),
    },
    errors: ['invalid_code'],
  },
} as const satisfies Record<string, Route>;
