// The block header in RLP: its hash, and the members that an anchor needs.
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, type Hex, hexToBytes } from './bytes.ts';
import { bytesFrom, decodeRlp, quantityFrom } from './rlp.ts';

export interface BlockHeader {
  readonly hash: Hex;
  readonly number: bigint;
  /** ISO 8601 in UTC with milliseconds, as `anchored_at`. */
  readonly timestamp: string;
  readonly transactionsRoot: Hex;
  readonly receiptsRoot: Hex;
}

/** Number of members before the London fork. Later forks add members at the end. */
const MEMBERS = 15;

/** More than any chain has, so that hostile input stays small. */
const MOST_MEMBERS = 64;

/** The last second that RFC 3339 can represent. */
const LAST_SECOND = BigInt(Date.UTC(9999, 11, 31, 23, 59, 59) / 1000);

/** Lengths of the members that have a fixed one: hashes, the miner, the bloom filter and the nonce. */
const LENGTHS: readonly (readonly [number, number])[] = [
  [0, 32],
  [1, 32],
  [2, 20],
  [3, 32],
  [4, 32],
  [5, 32],
  [6, 256],
  [13, 32],
  [14, 8],
];

/** Positions of the members that are numbers. */
const NUMBER = 8;
const TIMESTAMP = 11;
const TRANSACTIONS_ROOT = 4;
const RECEIPTS_ROOT = 5;
const QUANTITIES = [7, NUMBER, 9, 10, TIMESTAMP];

/** @throws TypeError if it is not the canonical RLP of a header. */
export function readBlockHeader(header: Hex): BlockHeader {
  const bytes = hexToBytes(header);
  const members = decodeRlp(bytes);
  if (members instanceof Uint8Array || members.length < MEMBERS || members.length > MOST_MEMBERS) {
    throw new TypeError('Not a block header: another number of members');
  }
  if (!members.every((member) => member instanceof Uint8Array)) {
    throw new TypeError('Not a block header: a list inside');
  }
  for (const [at, length] of LENGTHS) bytesFrom(members[at], length);
  for (const at of QUANTITIES) quantityFrom(members[at]);
  const seconds = quantityFrom(members[TIMESTAMP]);
  if (seconds > LAST_SECOND) throw new TypeError('Not a block header: the time is too late');
  return {
    hash: bytesToHex(keccak_256(bytes)),
    number: quantityFrom(members[NUMBER]),
    timestamp: new Date(Number(seconds) * 1000).toISOString(),
    transactionsRoot: bytesToHex(bytesFrom(members[TRANSACTIONS_ROOT], 32)),
    receiptsRoot: bytesToHex(bytesFrom(members[RECEIPTS_ROOT], 32)),
  };
}
