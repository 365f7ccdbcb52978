import { type Hex as Data, keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';
import { checkPrivateKey, type KeyWords, readKeyText, readPrivateKey } from './private-key.ts';

/** An anchoring transaction before it is signed: nothing is sent, from the account to itself. */
export interface UnsignedAnchor {
  readonly chainId: number;
  readonly nonce: number;
  readonly payload: Hex;
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface AnchorKey {
  /** Checksummed. */
  readonly address: string;
  /** An EIP-1559 transaction; the hash is computed here, before any node has seen it. */
  signTransaction(anchor: UnsignedAnchor): Promise<{ rawTx: Hex; txHash: Hex }>;
}

export type AnchorKeySource =
  | { readonly privateKey: string }
  /** A hex key, or a Web3 Secret Storage V3 keystore with the file that holds its password. */
  | { readonly file: string; readonly passwordFile?: string | undefined };

const words: KeyWords = { code: 'invalid_anchor_key', name: 'The anchoring key' };

/**
 * Loads an anchoring key. Rejects with SvcError `invalid_anchor_key`; the error names the file, never
 * what is in it.
 */
export async function loadAnchorKey(source: AnchorKeySource): Promise<AnchorKey> {
  if ('privateKey' in source) return anchorKeyOf(checkPrivateKey(source.privateKey, words));
  const { file, passwordFile } = source;
  const password = async () => {
    if (passwordFile === undefined) {
      throw new SvcError(words.code, `The keystore ${file} needs a password file`);
    }
    return (await readKeyText(passwordFile, words)).replace(/\r?\n$/, '');
  };
  return anchorKeyOf(await readPrivateKey(file, password, words));
}

function anchorKeyOf(privateKey: Hex): AnchorKey {
  const account = privateKeyToAccount(privateKey);
  return {
    address: account.address,
    async signTransaction({ payload, ...anchor }) {
      const rawTx: Data = await account.signTransaction({
        ...anchor,
        type: 'eip1559',
        to: account.address,
        value: 0n,
        data: payload,
      });
      return { rawTx, txHash: keccak256(rawTx) };
    },
  };
}
