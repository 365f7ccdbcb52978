// Signs with a wallet's key file.
import { privateKeyToAccount } from 'viem/accounts';
import { readPrivateFile } from '../../base/private-file.ts';
import { type KeyWords, readPrivateKey } from '../../chain/keys/anchor-key.ts';
import type { Context } from '../context.ts';
import type { Signer } from './signature.ts';

const words: KeyWords = { code: 'invalid_key', name: 'The key', source: '--key-file' };

export interface KeyFile {
  keyFile: string;
  passwordFile?: string;
}

/**
 * The wallet of a key file: hex, or a Web3 Secret Storage keystore (version 3) with its password from `passwordFile` or
 * the terminal. Rejects with `invalid_key`, which names option and file, never the key.
 */
export async function keyFileSigner(
  context: Context,
  { keyFile, passwordFile }: KeyFile,
): Promise<Signer> {
  const password = () => askPassword(context, `Password of ${keyFile}: `, passwordFile);
  const wallet = privateKeyToAccount(await readPrivateKey(keyFile, password, words));
  return { address: wallet.address, sign: (message) => wallet.signMessage({ message }) };
}

/** A password from a file, without its line end, or else from the terminal. Rejects with `invalid_key` and `usage`. */
export async function askPassword(
  context: Context,
  question: string,
  passwordFile?: string,
): Promise<string> {
  if (passwordFile === undefined)
    return (await context.prompt()).secret(question, '--password-file');
  const text = await readPrivateFile(passwordFile, '--password-file', words.code);
  return text.replace(/\r?\n$/, '');
}
