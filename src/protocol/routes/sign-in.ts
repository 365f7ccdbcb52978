// Routes of wallet sign-in.
import { Type } from 'typebox';
import { Address, Closed, OneOf } from '../fields.ts';
import { limits } from '../limits.ts';
import { publicChange, type Route } from '../route.ts';

export const Signature = Type.String({
  pattern: '^0x([0-9a-fA-F]{2})*$',
  maxLength: 2 + 2 * limits.signatureBytes,
  description:
    '0x and hex: 65 bytes, or 64 in the compact form (EIP-2098); for a contract wallet, what its contract accepts (0x if it approved the message on chain)',
});

export const signInRoutes = {
  createChallenge: {
    ...publicChange,
    takesTurn: false,
    path: '/api/auth/challenge',
    summary: 'Request the message that a wallet signs to sign in',
    limit: 'challenge',
    body: Closed({
      address: Address,
      chainId: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      purpose: Type.Optional(
        OneOf(['sign_in', 'export_account', 'delete_account'], 'default: sign_in'),
      ),
    }),
    fieldErrors: { address: 'invalid_address', chainId: 'invalid_chain_id' },
    lateValidation: true,
    responses: { 200: Closed({ message: Type.String() }) },
  },
  verifySignature: {
    ...publicChange,
    takesTurn: false,
    path: '/api/auth/verify',
    summary: 'Sign in with the signed challenge',
    body: Closed({
      address: Address,
      signature: Signature,
      message: Type.Optional(
        Type.String({
          maxLength: limits.messageLength,
          description:
            'the signed message; needed unless you send the cookie that POST /api/auth/challenge set',
        }),
      ),
    }),
    fieldErrors: { address: 'invalid_address' },
    responses: {
      200: Closed({
        signed_in: Type.Boolean(),
        wallet: Address,
        gate: Closed({ holds: Type.Boolean() }),
      }),
    },
    errors: [
      'invalid_signature',
      'signup_refused',
      'account_suspended',
      'chain_unavailable',
      'overloaded',
    ],
  },
  signOut: {
    ...publicChange,
    path: '/api/auth/logout',
    summary: 'Revoke the session, if there is one',
    responses: { 200: Closed({ signed_out: Type.Literal(true) }) },
  },
} as const satisfies Record<string, Route>;
