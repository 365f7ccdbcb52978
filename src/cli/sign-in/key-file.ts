// Signs in with a wallet's key file.
import { open } from 'node:fs/promises';
import { privateKeyToAccount } from 'viem/accounts';
import { unreadableFile } from '../../base/unreadable-file.ts';
import { type KeyWords, readPrivateKey } from '../../chain/anchor-key.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../program/context.ts';
import { openSession, requestMessage, type SignedIn } from './signature.ts';

const words: KeyWords = { code: 'invalid_key', name: 'The key' };

/**
 * Signs in with the wallet of a key file: hex, or a Web3 Secret Storage keystore (version 3) with its password from
 * `passwordFile` or the terminal. Rejects with `invalid_key`, which names the file, never what is in it.
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
    return (await readSecretFile(passwordFile, warn)).replace(/\r?\n$/, '');
  };
  await readSecretFile(keyFile, warn);
  const wallet = privateKeyToAccount(await readPrivateKey(keyFile, password, words));
  const message = await requestMessage(guest, url, wallet.address);
  return openSession(guest, wallet.address, await wallet.signMessage({ message }));
}

/** Reads a file that holds a secret, with a warning if others can read it too. Throws `usage`. */
async function readSecretFile(file: string, warn: (text: string) => void): Promise<string> {
  try {
    const handle = await open(file);
    try {
      const { mode } = await handle.stat();
      if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
        warn(`${file} can be read by others (mode ${(mode & 0o777).toString(8)}): chmod 600 it.`);
      }
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unreadableFile(file, error);
  }
}
