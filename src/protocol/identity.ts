// Schemas of the keys that robots sign with, and of statements (docs/statements.md).
import { type Static, Type } from 'typebox';
import { Address, Closed, Hash, Nullable, Timestamp, Uuid } from './fields.ts';
import { limits } from './limits.ts';

const Base64url32 = { pattern: '^[A-Za-z0-9_-]{43}$' };

/** A JSON Web Key. `src/proof` applies the stricter rules. */
export const PublicKey = Type.Union([
  Closed({ kty: Type.Literal('OKP'), crv: Type.Literal('Ed25519'), x: Type.String(Base64url32) }),
  Closed({
    kty: Type.Literal('EC'),
    crv: Type.Literal('P-256'),
    x: Type.String(Base64url32),
    y: Type.String(Base64url32),
  }),
]);

export const Kid = Type.String({
  ...Base64url32,
  description: 'SHA-256 of the text that put the key into use, as base64url',
});

/** A text that puts a key into use or out of use, and the signature of the wallet. */
export const KeyText = Closed({
  text: Type.String({ maxLength: limits.keyTextLength }),
  signature: Type.String({
    pattern: '^0x([0-9a-fA-F]{2})+$',
    maxLength: 2 + 2 * limits.signatureBytes,
    description: 'signature of the text with personal_sign (EIP-191)',
  }),
});

/** A statement or a promise: a JWS in compact form. */
export const SignedDocument = Type.String({
  maxLength: limits.statementLength,
  pattern: '^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$',
  description: 'a JWS in compact form',
  examples: [`eyJhbGciOiJFZDI1NTE5Iiw.eyJjbG9ja19zeW5jaHJvbml6ZWQ.${'A'.repeat(86)}`],
});

const SignedKeyText = Closed({ ...KeyText.properties, signed_at: Timestamp });

export const SigningKey = Closed({
  kid: Kid,
  public_key: PublicKey,
  grant: SignedKeyText,
  revocation: Nullable(SignedKeyText),
});

/** What a robot signs with, and what the next key text must state. */
export const SigningIdentity = Closed({
  origin: Type.String({ description: 'the public URL of the service, as in key texts' }),
  wallet: Address,
  robot_id: Uuid,
  /** Null if the robot proposed none, or its proposed key is in use. */
  proposed_key: Nullable(PublicKey),
  /** Whether every claim and result needs a statement. Stays true when the key is revoked. */
  signs: Type.Boolean(),
  next_number: Type.Integer({ minimum: 1 }),
  last: Nullable(
    Closed({
      number: Type.Integer({ minimum: 1 }),
      signed_hash: Hash,
      /** Null when its task was deleted. */
      statement: Nullable(SignedDocument),
    }),
  ),
  /** Oldest first. The last one without a revocation is in use. */
  keys: Type.Array(SigningKey),
});

/** A statement; null when its task was deleted, after which only the two hashes are kept. */
export const StatementItem = Closed({
  number: Type.Integer({ minimum: 1 }),
  signed_hash: Hash,
  statement_hash: Hash,
  statement: Nullable(SignedDocument),
  received_at: Timestamp,
});

/** Cursor of a list of statements: the last one's number, and its place among those with this number. */
export const StatementCursor = Type.String({
  pattern: '^\\d{1,16}_\\d{1,2}$',
  description: 'the next_cursor of the previous page',
  examples: ['412_1'],
});

export type PublicKey = Static<typeof PublicKey>;
export type SigningIdentity = Static<typeof SigningIdentity>;
export type SigningKey = Static<typeof SigningKey>;
