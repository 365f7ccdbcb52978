// Signed transactions as raw bytes: types 0 (EIP-155), 1 (EIP-2930) and 2 (EIP-1559), with the sender recovered.
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes } from '@noble/hashes/utils.js';
import { bytesToHex, type Hex, hexToBytes } from './bytes.ts';
import {
  bytesFrom,
  decodeRlp,
  encodeRlp,
  listFrom,
  quantityBytes,
  quantityFrom,
  type RlpItem,
} from './rlp.ts';

export interface SignedTransaction {
  readonly hash: Hex;
  /** The chain that the sender signed for. */
  readonly chainId: bigint;
  /** The account whose key signed. */
  readonly from: Hex;
  /** Null if the transaction creates a contract. */
  readonly to: Hex | null;
  /** In wei. */
  readonly value: bigint;
  readonly input: Hex;
}

/** Longest transaction read: nodes accept none that is longer. */
const MAX_LENGTH = 131_072;

/** Number of members of each type, and the position of the recipient. Numbers are before it; value and input follow. */
const LAYOUTS = [
  { count: 9, to: 3 },
  { count: 11, to: 4 },
  { count: 12, to: 5 },
] as const;

/** The first byte of a list: a type is below it. */
const LIST = 0xc0;

/**
 * Reads a raw transaction whose signature is valid, has a low `s` (EIP-2) and covers a chain id.
 *
 * @throws TypeError for any other type, and unless it is canonical and signed so.
 */
export function readSignedTransaction(raw: Hex): SignedTransaction {
  const { signature, ...content } = decode(raw);
  return { ...content, from: recoverAccount(signature) };
}

/**
 * As `readSignedTransaction`, without the sender: the signature is not checked, which takes a millisecond.
 *
 * @throws TypeError as above.
 */
export function readTransaction(raw: Hex): Omit<SignedTransaction, 'from'> {
  const { signature: _, ...content } = decode(raw);
  return content;
}

/** The signature of a hash by an Ethereum account. */
export interface Signature {
  /** What was signed. */
  readonly hash: Uint8Array;
  readonly parity: bigint;
  readonly r: bigint;
  readonly s: bigint;
}

function decode(raw: Hex): Omit<SignedTransaction, 'from'> & { signature: Signature } {
  if (raw.length > 2 + 2 * MAX_LENGTH) throw new TypeError('The transaction is too long');
  const bytes = hexToBytes(raw);
  const [first = LIST] = bytes;
  const type = first < LIST ? first : 0;
  const layout = LAYOUTS[type];
  if (layout === undefined || first === 0) {
    throw new TypeError('The transaction is not of type 0, 1 or 2');
  }
  const envelope = bytes.subarray(0, type === 0 ? 0 : 1);
  const items = listFrom(decodeRlp(bytes.subarray(envelope.length)));
  if (items.length !== layout.count) {
    throw new TypeError('The transaction has another number of members than its type');
  }
  for (const item of items.slice(0, layout.to)) quantityFrom(item);
  const [to, value, input, accessList] = items.slice(layout.to);
  if (!(to instanceof Uint8Array && input instanceof Uint8Array)) {
    throw new TypeError('The recipient or the input of the transaction is a list');
  }
  if (type !== 0) requireAccessList(accessList);
  const content = items.slice(0, -3);
  const last = quantityFrom(items.at(-3));
  const { chainId, parity } =
    type === 0 ? fromV(last) : { chainId: quantityFrom(items[0]), parity: last };
  const none = new Uint8Array();
  const signed = type === 0 ? [...content, quantityBytes(chainId), none, none] : content;
  return {
    hash: bytesToHex(keccak_256(bytes)),
    chainId,
    signature: {
      hash: keccak_256(concatBytes(envelope, encodeRlp(signed))),
      parity,
      r: quantityFrom(items.at(-2)),
      s: quantityFrom(items.at(-1)),
    },
    to: to.length === 0 ? null : bytesToHex(bytesFrom(to, 20)),
    value: quantityFrom(value),
    input: bytesToHex(input),
  };
}

/** EIP-155: v = 35 + 2 × chain id + parity. */
function fromV(v: bigint): { chainId: bigint; parity: bigint } {
  if (v < 37n) throw new TypeError('The transaction is signed for no chain');
  return { chainId: (v - 35n) / 2n, parity: (v - 35n) % 2n };
}

/**
 * The account that signed.
 *
 * @throws TypeError unless the signature is valid and has a low `s` (EIP-2).
 */
export function recoverAccount({ hash, parity, r, s }: Signature): Hex {
  if (parity > 1n) throw new TypeError('The signature has another parity than 0 or 1');
  let key: Uint8Array;
  try {
    const signature = new secp256k1.Signature(r, s).addRecoveryBit(Number(parity));
    if (signature.hasHighS()) throw new TypeError('The signature has a high s');
    key = signature.recoverPublicKey(hash).toRawBytes(false);
  } catch (error) {
    if (error instanceof TypeError) throw error;
    throw new TypeError('The signature is not valid');
  }
  return bytesToHex(keccak_256(key.subarray(1)).subarray(12));
}

function requireAccessList(item: RlpItem | undefined): void {
  for (const entry of listFrom(item)) {
    const [address, keys, ...others] = listFrom(entry);
    bytesFrom(address, 20);
    for (const key of listFrom(keys)) bytesFrom(key, 32);
    if (others.length > 0) throw new TypeError('An entry of the access list has other members');
  }
}
