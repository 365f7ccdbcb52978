// Schemas of account tokens.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

export const TokenScope = OneOf(
  ['read', 'write'],
  'read: every GET endpoint that accepts an account token; write: every endpoint that accepts an account token. No token can manage sessions or tokens, allow the sign-in of another machine, create or change webhooks, or export or delete the account',
);
export type TokenScope = Static<typeof TokenScope>;

/** An account token in plain text. `svct_` lets scanners for leaked secrets recognize it. */
export const TokenSecret = Type.String({
  pattern: '^svct_[0-9a-f]{40}$',
  description: 'svct_ and 40 lowercase hex digits; send as "Authorization: Bearer svct_…"',
  examples: [`svct_${'5e'.repeat(20)}`],
});

export const AccountToken = Closed({
  id: Uuid,
  name: Type.String(),
  scope: TokenScope,
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: Nullable(Type.String({ ...Timestamp, description: 'accurate to one minute' })),
});
export type AccountToken = Static<typeof AccountToken>;
