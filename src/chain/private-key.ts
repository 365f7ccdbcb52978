import { readFile } from 'node:fs/promises';
import { privateKeyToAddress } from 'viem/accounts';
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';

/** What errors about a key say of it: their code, and its name in a sentence. */
export interface KeyWords {
  readonly code: string;
  readonly name: string;
}

/**
 * The private key in a file: hex, or a Web3 Secret Storage keystore (version 3), whose `password` is asked
 * for once it is needed. Rejects with SvcError of `words.code`; the error names the file, never what is in
 * it.
 */
export async function readPrivateKey(
  file: string,
  password: () => Promise<string>,
  words: KeyWords,
): Promise<Hex> {
  const text = (await readKeyText(file, words)).trim();
  const where = { ...words, name: `${words.name} in ${file}` };
  return checkPrivateKey(
    text.startsWith('{') ? await decrypt(text, file, await password(), words) : text,
    where,
  );
}

/** A private key from hex, with or without 0x. Throws SvcError of `words.code`, without quoting it. */
export function checkPrivateKey(text: string, { code, name }: KeyWords): Hex {
  const digits = text.trim().replace(/^0x/, '');
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) {
    throw new SvcError(code, `${name} is not 32 bytes of hex, nor a keystore`);
  }
  try {
    privateKeyToAddress(`0x${digits}`);
  } catch {
    // The library's text quotes the key.
    throw new SvcError(code, `${name} is not a key of secp256k1`);
  }
  return `0x${digits}`;
}

async function decrypt(
  keystore: string,
  file: string,
  password: string,
  { code }: KeyWords,
): Promise<string> {
  const { decryptKeystoreJson } = await import('ethers');
  try {
    return (await decryptKeystoreJson(keystore, password)).privateKey;
  } catch {
    throw new SvcError(code, `The keystore ${file} cannot be opened with that password`);
  }
}

/** Text of a file with a key or a password. Rejects with SvcError of `code`. */
export async function readKeyText(file: string, { code }: KeyWords): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const system = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new SvcError(code, `${file} cannot be read${system}`);
  }
}
