import { privateKeyToAccount } from 'viem/accounts';
import { type KeyWords, readPrivateKey } from '../chain/anchor-key.ts';

export interface Wallet {
  address: string;
  /** `personal_sign` of the text, 0x-prefixed hex. */
  sign(message: string): Promise<string>;
}

const words: KeyWords = { code: 'invalid_key', name: 'The key' };

/**
 * The wallet of a key file: hex, or a Web3 Secret Storage keystore (version 3), whose password `password`
 * is asked for. Rejects with SvcError `invalid_key`; it names the file, never what is in it.
 */
export async function openWallet(file: string, password: () => Promise<string>): Promise<Wallet> {
  const account = privateKeyToAccount(await readPrivateKey(file, password, words));
  return {
    address: account.address,
    sign: (message) => account.signMessage({ message }),
  };
}
