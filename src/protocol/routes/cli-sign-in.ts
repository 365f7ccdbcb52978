// Routes of the command line's sign-in through a browser: the device flow of RFC 8628.
import { Type } from 'typebox';
import { Address, Closed, OneOf, Text, Timestamp } from '../fields.ts';
import { limits } from '../limits.ts';
import { accountChange, publicChange, type Route } from '../route.ts';

/** Base64url of 32 bytes, whose last character carries 4 bits. */
const DeviceCode = Type.String({
  pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$',
  description: '256 random bits in base64url, 43 characters; only the command line knows this code',
});

export const cliSignInRoutes = {
  startCliSignIn: {
    ...publicChange,
    path: '/api/auth/cli/device',
    summary:
      'Start a sign-in of the command line through a browser (RFC 8628): request a device code and a user code',
    description: `The codes last 10 minutes. A source (an IPv4 address, or an IPv6 /56) with ${limits.openCliCodesOfSource} open codes gets \`overloaded\`.`,
    body: Closed({
      name: Text(limits.nameLength, 'name of the machine, which the page shows; without U+0000'),
    }),
    responses: {
      201: Closed({
        device_code: DeviceCode,
        user_code: Type.String({
          pattern: '^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$',
          description:
            '40 random bits in Crockford base32, for a person to type on the page /cli-login',
        }),
        expires_at: Timestamp,
        interval: Type.Integer({ description: 'seconds between two requests for the token' }),
      }),
    },
  },
  decideCliSignIn: {
    ...accountChange,
    path: '/api/auth/cli/authorize',
    summary:
      'Show, allow or refuse a command-line sign-in, identified by the user code that svc login shows',
    description: `The Origin header must be the origin of the service. The session must have been opened with a wallet signature. After ${limits.wrongCliCodes} wrong codes in one session, the owner must sign in with the wallet again.`,
    sessionOnly: true,
    ownOriginOnly: true,
    body: Closed({
      user_code: Type.String({
        maxLength: 32,
        description: 'case, spaces and hyphens do not matter; O counts as 0, I and L as 1',
      }),
      decision: Type.Optional(OneOf(['allow', 'refuse'], 'if absent, nothing changes')),
    }),
    responses: {
      200: Closed({
        name: Type.String({ description: 'name that the machine gave itself' }),
        requested_at: Timestamp,
        expires_at: Timestamp,
      }),
    },
    errors: ['invalid_code', 'wallet_session_required'],
  },
  redeemCliCode: {
    ...publicChange,
    path: '/api/auth/cli/token',
    summary:
      'Open a session with a device code, after the owner has allowed the sign-in. Each device code works once',
    description: 'The new session does not end with the one that allowed it.',
    body: Closed({ device_code: DeviceCode }),
    fieldErrors: { device_code: 'invalid_code' },
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
    errors: ['invalid_code', 'authorization_pending', 'account_suspended'],
  },
} as const satisfies Record<string, Route>;
