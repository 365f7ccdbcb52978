import { readFile } from 'node:fs/promises';
import { type Hex as Data, keccak256, parseTransaction } from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { SvcError } from '../base/svc-error.ts';
import type { Hex } from '../proof/bytes.ts';

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
  /** The same transaction for other fees, in wei per gas; nothing else of it changes. */
  signReplacement(
    rawTx: Hex,
    fees: Pick<UnsignedAnchor, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  ): Promise<{ rawTx: Hex; txHash: Hex }>;
}

/** The gas limit that was signed. */
export function gasLimitOf(rawTx: Hex): bigint {
  return parseTransaction(rawTx).gas ?? 0n;
}

export type AnchorKeySource =
  | { readonly privateKey: string }
  /** A hex key, or a Web3 Secret Storage V3 keystore with the file that holds its password. */
  | { readonly file: string; readonly passwordFile?: string | undefined };

/** Loads them all, beside each other. Rejects as `loadAnchorKey`, and when two are of one account. */
export async function loadAnchorKeys(sources: readonly AnchorKeySource[]): Promise<AnchorKey[]> {
  const keys = await Promise.all(sources.map(loadAnchorKey));
  const twice = keys.find(({ address }, i) => keys.findIndex((key) => key.address === address) < i);
  if (twice !== undefined) throw invalid(`The anchoring key of ${twice.address} is given twice`);
  return keys;
}

/**
 * Loads an anchoring key. Rejects with SvcError `invalid_anchor_key`; the error names the file, never
 * what is in it.
 */
export async function loadAnchorKey(source: AnchorKeySource): Promise<AnchorKey> {
  if ('privateKey' in source) return anchorKeyOf(source.privateKey, 'The anchoring key');
  const text = (await readText(source.file)).trim();
  const where = `The anchoring key in ${source.file}`;
  return anchorKeyOf(text.startsWith('{') ? await decrypt(text, source) : text, where);
}

function anchorKeyOf(text: string, where: string): AnchorKey {
  const digits = text.trim().replace(/^0x/, '');
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) {
    throw invalid(`${where} is not 32 bytes of hex, nor a keystore`);
  }
  const account = accountOf(`0x${digits}`, where);
  const sign = async ({ payload, ...anchor }: UnsignedAnchor) => {
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
    address: account.address,
    signTransaction: sign,
    signReplacement: (rawTx, fees) => sign({ ...signedAnchor(rawTx), ...fees }),
  };
}

function signedAnchor(rawTx: Hex): UnsignedAnchor {
  const tx = parseTransaction(rawTx);
  const { chainId, nonce = 0, data = '0x', gas = 0n } = tx;
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = tx;
  if (chainId === undefined) throw new Error('An anchor is signed for a chain');
  return { chainId, nonce, payload: data, gas, maxFeePerGas, maxPriorityFeePerGas };
}

function accountOf(privateKey: Hex, where: string): PrivateKeyAccount {
  try {
    return privateKeyToAccount(privateKey);
  } catch {
    // The library's text quotes the key.
    throw invalid(`${where} is not a key of secp256k1`);
  }
}

async function decrypt(
  keystore: string,
  source: { file: string; passwordFile?: string | undefined },
): Promise<string> {
  if (source.passwordFile === undefined) {
    throw invalid(`The keystore ${source.file} needs a password file`);
  }
  const password = (await readText(source.passwordFile)).replace(/\r?\n$/, '');
  const { decryptKeystoreJson } = await import('ethers');
  try {
    return (await decryptKeystoreJson(keystore, password)).privateKey;
  } catch {
    throw invalid(
      `The keystore ${source.file} cannot be opened with the password in ${source.passwordFile}`,
    );
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw invalid(`${file} cannot be read${code}`);
  }
}

function invalid(message: string): SvcError {
  return new SvcError('invalid_anchor_key', message);
}
