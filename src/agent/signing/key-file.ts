// The robot's signing key: a file next to the spool, with the private key or, if a command signs, the public key alone.
import { createPrivateKey, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { makeDurableFolder } from '../../base/durable-folder.ts';
import { readPrivateFile, replacePrivateFile } from '../../base/private-file.ts';
import { SvcError } from '../../base/svc-error.ts';
import { DocumentError } from '../../proof/document-error.ts';
import {
  algorithmOf,
  type PublicKey,
  readPublicKey,
  thumbprintOf,
} from '../../proof/statements/public-key.ts';
import { runSignCommand, signatureBytes } from './sign-command.ts';

/** A key that the agent can sign with. */
export interface SigningKey {
  readonly publicKey: PublicKey;
  readonly thumbprint: string;
  /** Statements signed at once. */
  readonly batch: number;
  /** The 64 bytes, whose check is the caller's. @throws SvcError `sign_failed` */
  sign(text: string, signal: AbortSignal): Promise<Uint8Array>;
}

const FILE = 'signing-key.json';
const BATCH = 32;
const UNUSABLE = 'signing_key_unusable';

export function signingKeyFile(folder: string): string {
  return path.join(folder, FILE);
}

/**
 * Null if there is no key. `command`: signs in place of a private key.
 * @throws SvcError `signing_key_unusable` if the file cannot be read, others can read it, or it holds no key
 */
export async function readSigningKey(
  folder: string,
  command: readonly string[] | null,
  timeoutMs: number,
): Promise<SigningKey | null> {
  const file = signingKeyFile(folder);
  if (!existsSync(file)) return null;
  const { d, ...rest } = parse(await readPrivateFile(file, 'signing key', UNUSABLE), file);
  const publicKey = publicKeyOf(rest, file);
  const common = { publicKey, thumbprint: thumbprintOf(publicKey) };
  if (command !== null) {
    const algorithm = algorithmOf(publicKey);
    const run = (text: string, signal: AbortSignal) =>
      runSignCommand(command, text, { timeoutMs, signal });
    const sign = async (text: string, signal: AbortSignal) =>
      signatureBytes(algorithm, await run(text, signal));
    return { ...common, batch: 1, sign };
  }
  if (typeof d !== 'string') {
    throw new SvcError(UNUSABLE, `The signing key ${file} has no private key.`, {
      hint: 'Set SVC_AGENT_SIGN_COMMAND to the command that signs.',
    });
  }
  const privateKey = createPrivateKey({ key: { ...publicKey, d }, format: 'jwk' });
  return {
    ...common,
    batch: BATCH,
    sign: async (text) => signBytes(null, Buffer.from(text), privateKey),
  };
}

/** Writes a new key, durably: a new key pair, or a given public key whose private key a command has. */
export async function writeSigningKey(folder: string, given: PublicKey | null): Promise<void> {
  makeDurableFolder(folder);
  const key = given ?? generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  await replacePrivateFile(signingKeyFile(folder), `${JSON.stringify(key)}\n`);
}

/** @throws SvcError `signing_key_unusable` for a key that signs no statements */
export function publicKeyOf(document: Record<string, unknown>, file: string): PublicKey {
  try {
    const { kty, crv, x, y } = document;
    return readPublicKey({ kty, crv, x, ...(y !== undefined && { y }) } as never); // Its reader checks each member.
  } catch (cause) {
    if (!(cause instanceof DocumentError)) throw cause;
    const message = `${file} holds no Ed25519 or P-256 key: ${cause.message}.`;
    throw new SvcError(UNUSABLE, message, { cause });
  }
}

function parse(text: string, file: string): Record<string, unknown> {
  try {
    return { ...JSON.parse(text) };
  } catch (cause) {
    throw new SvcError(UNUSABLE, `The signing key ${file} is not JSON.`, { cause });
  }
}
