// The texts by which the owner of a robot puts a key into use and takes it out of use. The wallet signs them (EIP-191).

import { type Hex, hexToBytes } from '../bytes.ts';
import { DocumentError } from '../document-error.ts';
import { ADDRESS, UUID } from '../subject/members.ts';
import { BASE64URL_32, base64urlOf } from './base64url.ts';
import { hashText } from './jws.ts';
import type { Algorithm } from './public-key.ts';

/** What the owner states about the key of a robot. */
export interface KeyGrant {
  /** The public URL of the service. */
  readonly origin: string;
  /** In lowercase. */
  readonly wallet: Hex;
  readonly robot_id: string;
  readonly algorithm: Algorithm;
  /** Thumbprint (RFC 7638) of the public key. */
  readonly thumbprint: string;
  /** The number of the first statement that this key signs. */
  readonly first_number: number;
  /** The `kid` of the key that this key replaces; null for the robot's first key. */
  readonly predecessor: string | null;
}

/** What the owner states about a key that is no longer in use, such as a stolen one. */
export interface KeyRevocation extends Pick<KeyGrant, 'origin' | 'wallet' | 'robot_id'> {
  readonly kid: string;
  /** The last statement that the owner stands by, and its `signedHash`; null if it signed none. */
  readonly last: { readonly number: number; readonly hash: Hex } | null;
}

const GRANT = 'This key signs the work of a robot of the svc service at this origin.';
const PROMISE = 'From this number on, every task of this robot is signed.';
const REVOCATION =
  'This key no longer signs the work of a robot of the svc service at this origin.';

export function grantText(grant: KeyGrant): string {
  return [
    GRANT,
    `Origin: ${grant.origin}`,
    `Wallet: ${grant.wallet}`,
    `Robot: ${grant.robot_id}`,
    `Key: ${grant.algorithm} ${grant.thumbprint}`,
    `Previous key: ${grant.predecessor ?? 'none'}`,
    `First number: ${grant.first_number}`,
    PROMISE,
  ].join('\n');
}

export function revocationText({ origin, wallet, robot_id, kid, last }: KeyRevocation): string {
  return [
    REVOCATION,
    `Origin: ${origin}`,
    `Wallet: ${wallet}`,
    `Robot: ${robot_id}`,
    `Key: ${kid}`,
    `Last number: ${last === null ? 'none' : `${last.number} ${last.hash}`}`,
  ].join('\n');
}

/** The `kid` of a key: the SHA-256 of the text that put it into use, as base64url. */
export function kidOf(grantText: string): string {
  return base64urlOf(hexToBytes(hashText(grantText)));
}

/** @throws DocumentError if the text is not exactly one of `grantText`. */
export function readGrantText(text: string): KeyGrant {
  const fields = fieldsOf(text, GRANT, ['Key', 'Previous key', 'First number'], `\n${PROMISE}`);
  const [key = '', predecessor = '', number = ''] = fields.rest;
  const [, algorithm, thumbprint = ''] = /^(Ed25519|ES256) (\S+)$/.exec(key) ?? [];
  const isKnown = predecessor === 'none' || BASE64URL_32.pattern.test(predecessor);
  if (
    algorithm === undefined ||
    !BASE64URL_32.pattern.test(thumbprint) ||
    !isKnown ||
    !isNumber(number)
  ) {
    throw malformed();
  }
  return {
    ...fields.owner,
    algorithm: algorithm as Algorithm, // The pattern allows no other.
    thumbprint,
    first_number: Number(number),
    predecessor: predecessor === 'none' ? null : predecessor,
  };
}

/** @throws DocumentError if the text is not exactly one of `revocationText`. */
export function readRevocationText(text: string): KeyRevocation {
  const { owner, rest } = fieldsOf(text, REVOCATION, ['Key', 'Last number'], '');
  const [kid = '', last = ''] = rest;
  const [, number = '', hash = ''] = /^(\d+) (0x[0-9a-f]{64})$/.exec(last) ?? [];
  if (!BASE64URL_32.pattern.test(kid) || (last !== 'none' && !isNumber(number))) throw malformed();
  return {
    ...owner,
    kid,
    last: last === 'none' ? null : { number: Number(number), hash: hash as Hex }, // By the pattern.
  };
}

/** Whether the revocation is of this key. */
export function revokes(revocation: KeyRevocation, grant: KeyGrant, kid: string): boolean {
  const names = ['origin', 'wallet', 'robot_id'] as const;
  return revocation.kid === kid && names.every((name) => revocation[name] === grant[name]);
}

/** The lines of a text: those that name the owner and the robot, and the values of the others. */
function fieldsOf(text: string, title: string, names: readonly string[], end: string) {
  const labels = ['Origin', 'Wallet', 'Robot', ...names];
  const fields = labels.map((label) => `\n${label}: ([^\n]+)`).join('');
  const pattern = `^${title}${fields}${end}$`.replaceAll('.', String.raw`\.`);
  const [, origin = '', wallet = '', robot_id = '', ...rest] = new RegExp(pattern).exec(text) ?? [];
  const isOwner = ADDRESS.pattern.test(wallet) && UUID.pattern.test(robot_id);
  if (!isOwner || !/^https?:\/\/[!-.0-~]+$/.test(origin)) throw malformed();
  return { owner: { origin, wallet: wallet as Hex, robot_id }, rest };
}

function isNumber(text: string): boolean {
  return /^[1-9]\d*$/.test(text) && Number.isSafeInteger(Number(text));
}

function malformed(): DocumentError {
  const message = 'the text is not one that puts a key into use or out of use';
  return new DocumentError('key text', message);
}
