// What a bundle contains about the robot's signatures: the key, its texts, and the two statements.
import type { Hex } from '../bytes.ts';
import { DocumentError } from '../document-error.ts';
import { type FreeAnchor, freeAnchorIn } from '../subject/anchor-members.ts';
import type { Members } from '../subject/members.ts';
import { readGrantText, readRevocationText } from './key-text.ts';
import { type PublicKey, readPublicKey } from './public-key.ts';
import { readStatement } from './statement.ts';

/** A key text, signed by the wallet of the robot's owner. */
export interface SignedKeyText {
  readonly text: string;
  /** By personal_sign (EIP-191); of a smart-contract wallet, what its ERC-1271 function accepts. */
  readonly signature: Hex;
  /** Null if the text is not anchored. */
  readonly anchor: FreeAnchor | null;
}

/** The member `signing` of a bundle of work that the robot signed. */
export interface Signing {
  readonly key: SignedKeyText & { readonly public_key: PublicKey };
  /** Null if the service knows of none. */
  readonly revocation: SignedKeyText | null;
  /** Null if the robot claimed the task before it had a key. */
  readonly claim: {
    /** The JWS. */
    readonly statement: string;
    readonly anchor: FreeAnchor | null;
  } | null;
  readonly result: { readonly statement: string };
}

/** A Safe that approved a text on the chain has an empty signature. */
const SIGNATURE = {
  pattern: /^0x(?:[0-9a-f]{2}){0,8192}$/,
  name: 'bytes of lower-case hex, at most 8192 bytes',
};

/** @throws DocumentError if a member, a key, a text or a statement is missing, malformed or unknown. */
export function readSigning(signing: Members): Signing {
  const key = signing.object('key');
  const result = signing.object('result');
  const read: Signing = {
    key: {
      public_key: within('key.public_key', () => readPublicKey(key.value('public_key'))),
      ...signedKeyText(key, 'key', readGrantText),
    },
    revocation: signing.nullable('revocation', (name) => {
      const revocation = signing.object(name);
      const text = signedKeyText(revocation, name, readRevocationText);
      revocation.requireNoOther();
      return text;
    }),
    claim: signing.nullable('claim', (name) => {
      const claim = signing.object(name);
      const read = { statement: statementIn(claim, name), anchor: anchorOf(claim) };
      claim.requireNoOther();
      return read;
    }),
    result: { statement: statementIn(result, 'result') },
  };
  for (const members of [signing, key, result]) members.requireNoOther();
  return read;
}

function signedKeyText(
  members: Members,
  name: string,
  read: (text: string) => unknown,
): SignedKeyText {
  const signed = signedTextIn(members);
  within(`${name}.text`, () => read(signed.text));
  return { ...signed, anchor: anchorOf(members) };
}

export function signedTextIn(members: Members): Omit<SignedKeyText, 'anchor'> {
  return { text: members.text('text'), signature: members.hex('signature', SIGNATURE) };
}

function statementIn(members: Members, name: string): string {
  const text = members.text('statement');
  within(`${name}.statement`, () => readStatement(text));
  return text;
}

function anchorOf(members: Members): FreeAnchor | null {
  return members.nullable('anchor', (name) => freeAnchorIn(members.object(name)));
}

/** Names the member of the bundle in the error of a document that is part of it. */
function within<T>(member: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new DocumentError('bundle', `signing.${member}: ${error.message}`);
  }
}
