// Signs in with a wallet's key file.
import { readFile, stat } from 'node:fs/promises';
import { privateKeyToAccount } from 'viem/accounts';
import { SvcError } from '../../base/svc-error.ts';
import { unreadableFile } from '../../base/unreadable-file.ts';
import { type KeyWords, readPrivateKey } from '../../chain/anchor-key.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../program/context.ts';
import { openSession, requestMessage, type SignedIn } from './signature.ts';

const words: KeyWords = { code: 'invalid_key', name: 'The key' };

/**
 * Signs in with the wallet of a key file: hex, or a Web3 Secret Storage keystore (version 3) with its password from
 * `passwordFile` or the terminal. Rejects with `usage` or `invalid_key`, which name option and file, never the key.
 */
export async function signInByKeyFile(
  context: Context,
  guest: Client,
  url: string,
  { keyFile, passwordFile }: { keyFile: string; passwordFile: string | undefined },
): Promise<SignedIn> {
  const { warn } = context.output;
  const password = async () => {
    if (passwordFile === undefined)
      return (await context.prompt()).secret(`Password of ${keyFile}: `);
    await checkSecretFile('--password-file', passwordFile, warn);
    return (await readSecretFile(passwordFile)).replace(/\r?\n$/, '');
  };
  await checkSecretFile('--key-file', keyFile, warn);
  const wallet = privateKeyToAccount(await readKey(keyFile, password));
  const message = await requestMessage(guest, url, wallet.address);
  return openSession(guest, wallet.address, await wallet.signMessage({ message }));
}

async function readKey(keyFile: string, password: () => Promise<string>) {
  try {
    return await readPrivateKey(keyFile, password, words);
  } catch (error) {
    if (!(error instanceof SvcError && error.code === words.code)) throw error;
    throw new SvcError(words.code, `--key-file: ${error.message.replace(/\.?$/, '.')}`);
  }
}

/** Warns if others can read the file. Reads nothing: a pipe, such as `<(…)`, can be read only once. Throws `usage`. */
async function checkSecretFile(
  option: string,
  file: string,
  warn: (text: string) => void,
): Promise<void> {
  try {
    const found = await stat(file);
    const isOpen = found.isFile() && (found.mode & 0o077) !== 0;
    if (!isOpen || process.platform === 'win32') return;
    const shown = (found.mode & 0o777).toString(8);
    warn(`${option} ${file} can be read by others (mode ${shown}). Run chmod 600 ${file}.`);
  } catch (error) {
    throw unreadableFile(`${option} ${file}`, error);
  }
}

async function readSecretFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unreadableFile(`--password-file ${file}`, error);
  }
}
