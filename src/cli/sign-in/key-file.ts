// Signs in with a wallet's key file.
import { privateKeyToAccount } from 'viem/accounts';
import { readPrivateFile } from '../../base/private-file.ts';
import { type KeyWords, readPrivateKey } from '../../chain/anchor-key.ts';
import type { Client } from '../../client/client.ts';
import type { Context } from '../program/context.ts';
import { openSession, requestMessage, type SignedIn } from './signature.ts';

const words: KeyWords = { code: 'invalid_key', name: 'The key', source: '--key-file' };

/**
 * Signs in with the wallet of a key file: hex, or a Web3 Secret Storage keystore (version 3) with its password from
 * `passwordFile` or the terminal. Rejects with `invalid_key`, which names option and file, never the key.
 */
export async function signInByKeyFile(
  context: Context,
  guest: Client,
  url: string,
  { keyFile, passwordFile }: { keyFile: string; passwordFile: string | undefined },
): Promise<SignedIn> {
  const password = async () => {
    if (passwordFile === undefined)
      return (await context.prompt()).secret(`Password of ${keyFile}: `);
    const text = await readPrivateFile(passwordFile, '--password-file', words.code);
    return text.replace(/\r?\n$/, '');
  };
  const wallet = privateKeyToAccount(await readPrivateKey(keyFile, password, words));
  const message = await requestMessage(guest, url, wallet.address);
  const signature = await wallet.signMessage({ message });
  return openSession(guest, { address: wallet.address, message, signature });
}
