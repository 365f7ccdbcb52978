// The private key of an anchoring account: loads it from hex or keystore, and signs anchors.
import { type Hex as Data, keccak256, parseTransaction } from 'viem';
import { privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { readPrivateFile } from '../../base/private-file.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import { decryptKeystore, KeystoreError } from './keystore.ts';
import { promiseKeyOf } from './promise-key.ts';

/** An unsigned anchoring transaction: from the account to itself, with no value. */
interface UnsignedAnchor {
  readonly chainId: number;
  readonly nonce: number;
  readonly payload: Hex;
  readonly gas: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export type AnchorKey = ReturnType<typeof anchorKeyOf>;

type Terms = Pick<UnsignedAnchor, 'gas' | 'maxFeePerGas' | 'maxPriorityFeePerGas'>;

/** The gas limit of a signed transaction. */
export function gasLimitOf(rawTx: Hex): bigint {
  return parseTransaction(rawTx).gas ?? 0n;
}

type AnchorKeySource =
  | { readonly privateKey: string }
  /** A hex key, or a Web3 Secret Storage V3 keystore with the file that holds its password. */
  | { readonly file: string; readonly passwordFile?: string | undefined };

const words: KeyWords = {
  code: 'invalid_anchor_key',
  name: 'The anchoring key',
  source: 'SVC_ANCHOR_KEY_FILE',
};

/** Loads all keys concurrently. Rejects as `loadAnchorKey` does, and if two keys belong to the same account. */
export async function loadAnchorKeys(sources: readonly AnchorKeySource[]): Promise<AnchorKey[]> {
  const keys = await Promise.all(sources.map(loadAnchorKey));
  const twice = keys.find(({ address }, i) => keys.findIndex((key) => key.address === address) < i);
  if (twice !== undefined) {
    throw new SvcError(words.code, `The anchoring key of ${twice.address} is configured twice.`, {
      hint: 'Remove one of the two keys.',
    });
  }
  return keys;
}

/** Loads an anchoring key. Rejects with SvcError `invalid_anchor_key`. The error names the file, never its content. */
export async function loadAnchorKey(source: AnchorKeySource): Promise<AnchorKey> {
  if ('privateKey' in source) return anchorKeyOf(checkPrivateKey(source.privateKey, words));
  const { file, passwordFile } = source;
  const password = async () => {
    if (passwordFile === undefined) {
      throw new SvcError(words.code, `The keystore ${file} needs a password.`, {
        hint: 'Set SVC_ANCHOR_KEY_PASSWORD_FILE.',
      });
    }
    const text = await readPrivateFile(passwordFile, 'SVC_ANCHOR_KEY_PASSWORD_FILE', words.code);
    return text.replace(/\r?\n$/, '');
  };
  return anchorKeyOf(await readPrivateKey(file, password, words));
}

/** How errors about a key refer to it: error code, name in a sentence, and the variable or option with its file. */
export interface KeyWords {
  readonly code: string;
  readonly name: string;
  readonly source: string;
}

/**
 * Reads a private key from a file: hex, or a Web3 Secret Storage keystore (version 3). `password` is called only if the
 * file is a keystore. Rejects with SvcError of `words.code`. The error names the file, never its content.
 */
export async function readPrivateKey(
  file: string,
  password: () => Promise<string>,
  words: KeyWords,
): Promise<Hex> {
  const text = (await readPrivateFile(file, words.source, words.code)).trim();
  const where = { ...words, name: `${words.name} in ${words.source} ${file}` };
  return checkPrivateKey(
    text.startsWith('{') ? await decrypt(text, file, await password(), words) : text,
    where,
  );
}

function anchorKeyOf(privateKey: Hex) {
  const account = privateKeyToAccount(privateKey);
  const signTransaction = async ({ payload, ...anchor }: UnsignedAnchor) => {
    const rawTx: Data = await account.signTransaction({
      ...anchor,
      type: 'eip1559',
      to: account.address,
      value: 0n,
      data: payload,
    });
    return { rawTx, txHash: keccak256(rawTx) };
  };
  return {
    /** EIP-55 checksummed. */
    address: account.address,
    /** Signs a text (EIP-191, personal_sign). */
    signText: (text: string) => account.signMessage({ message: text }),
    promiseKey: promiseKeyOf(privateKey),
    /** Signs an EIP-1559 transaction. The hash is computed here, before any node has seen it. */
    signTransaction,
    /** Signs the same transaction with another gas limit and other fees, in wei per gas. */
    signReplacement: (rawTx: Hex, terms: Terms) =>
      signTransaction({ ...signedAnchor(rawTx), ...terms }),
  };
}

function signedAnchor(rawTx: Hex): UnsignedAnchor {
  const tx = parseTransaction(rawTx);
  const { chainId, nonce = 0, data = '0x', gas = 0n } = tx;
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = tx;
  if (chainId === undefined) throw new Error('An anchor is signed for a chain');
  return { chainId, nonce, payload: data, gas, maxFeePerGas, maxPriorityFeePerGas };
}

/** Parses a private key of 64 hex digits, with or without 0x. Throws SvcError of `words.code`, which never quotes the text. */
function checkPrivateKey(text: string, { code, name }: KeyWords): Hex {
  const digits = text.trim().replace(/^0x/i, '');
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) {
    throw new SvcError(code, `${name} must be 64 hex digits or a keystore (version 3).`);
  }
  try {
    privateKeyToAddress(`0x${digits}`);
  } catch {
    // Drop the cause: the library's message quotes the key.
    throw new SvcError(code, `${name} is not a valid secp256k1 key.`);
  }
  return `0x${digits}`;
}

async function decrypt(text: string, file: string, password: string, { code, source }: KeyWords) {
  try {
    return await decryptKeystore(text, password);
  } catch (error) {
    if (!(error instanceof KeystoreError)) throw error;
    const { message, hint } = error;
    throw new SvcError(code, `Cannot open the keystore ${source} ${file}: ${message}.`, { hint });
  }
}
