// Schemas of account tokens.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

export const TokenScope = OneOf(['read', 'write'], 'read: GET endpoints only');
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
