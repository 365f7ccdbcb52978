// Builds the chain proof of a transaction from its block: the header, and the path in the transactions trie.
import { keccak_256 } from '@noble/hashes/sha3.js';
import { runYielding, startYielding } from '../base/cooperative-yield.ts';
import { readBlockHeader } from '../proof/block-header.ts';
import { MAX_HEADER_BYTES } from '../proof/bundle.ts';
import { bytesToHex, type Hex, hexToBytes } from '../proof/bytes.ts';
import type { ChainProof } from '../proof/chain-proof.ts';
import { decodeRlp, encodeRlp, listFrom } from '../proof/rlp.ts';
import { MAX_NODE_BYTES } from '../proof/subject/members.ts';
import { growTrieProof } from '../proof/trie.ts';
import { encodeHeader, encodeTransaction, isStateSync } from './block-encoding.ts';
import { dataOf, objectOf } from './decode.ts';
import { ProviderError } from './errors.ts';
import { type Ask, askInParts, type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';

/** The methods that only chain proofs call. */
export const chainProofCalls: ReadonlySet<string> = new Set([
  'eth_getBlockByHash',
  'eth_getRawTransactionByHash',
  'debug_getRawTransaction',
  'debug_getRawBlock',
]);

/** Where a transaction is. */
export interface BlockPlace {
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly txIndex: number;
  readonly txHash: Hex;
}

/** With more unknown transactions in a block, only the raw block is asked for. */
const MOST_RAW_CALLS = 100;

/** The content of a block as a node returned it. */
interface RawBlock {
  readonly header: Uint8Array;
  readonly transactions: readonly Uint8Array[];
}

/**
 * Reads the block of a transaction and returns its chain proof. Encodes the JSON block. Asks for the raw bytes of
 * transactions whose encoding it does not know, and for the raw block if nothing else helps. Null if the node does not
 * have the block, or if no answer reproduces the hash of the block and its transactions root: nothing else decides.
 * Rejects with ProviderError if the node does not answer.
 */
export async function readChainProof(
  ask: Ask,
  place: BlockPlace,
  signal?: AbortSignal,
): Promise<ChainProof | null> {
  const block = await readJsonBlock(ask, place.blockHash, signal);
  if (block === null) return null;
  const encoded = await encodeBlock(ask, block, { place, signal });
  const proof = encoded && (await proofFrom(encoded, place));
  if (proof !== null) return proof;
  const params = [`0x${place.blockNumber.toString(16)}`];
  const [raw] = await ask([{ method: 'debug_getRawBlock', params }], signal);
  const content = await runYielding(rawBlockOf(raw));
  return content && (await proofFrom(content, place));
}

/** Null unless the block has the stated hash and number, and its transactions make the root in its header. */
async function proofFrom(
  { header, transactions }: RawBlock,
  place: BlockPlace,
): Promise<ChainProof | null> {
  const transaction = transactions[place.txIndex];
  if (transaction === undefined || keccak(transaction) !== place.txHash) return null;
  if (header.length > MAX_HEADER_BYTES || keccak(header) !== place.blockHash) return null;
  const read = unlessMalformed(() => readBlockHeader(bytesToHex(header)));
  if (read?.number !== place.blockNumber) return null;
  const { root, nodes } = await runYielding(growTrieProof(transactions, place.txIndex));
  if (root !== read.transactionsRoot) return null;
  if (nodes.some((node) => node.length > 2 + 2 * MAX_NODE_BYTES)) return null;
  return { header: bytesToHex(header), nodes };
}

async function readJsonBlock(
  ask: Ask,
  hash: Hex,
  signal: AbortSignal | undefined,
): Promise<Record<string, unknown> | null> {
  const [answer] = await ask([{ method: 'eth_getBlockByHash', params: [hash, true] }], signal);
  const result = resultOf(answer);
  return result === null ? null : objectOf(result);
}

/** Null if the header or a transaction of the JSON block cannot be had in its right encoding. */
async function encodeBlock(
  ask: Ask,
  block: Record<string, unknown>,
  { place, signal }: { place: BlockPlace; signal: AbortSignal | undefined },
): Promise<RawBlock | null> {
  const header = encodedAs(place.blockHash, () => encodeHeader(block));
  // Some nodes list only hashes, whatever was asked for.
  const listed = unlessMalformed(() => listOf(block.transactions));
  if (header === null || listed === null) return null;
  const hashes = listed.map((tx) => dataOf(tx.hash));
  const transactions = await runYielding(encodeTransactions(listed, hashes));
  for (const method of ['eth_getRawTransactionByHash', 'debug_getRawTransaction']) {
    const missing = hashes.filter((_, i) => transactions[i] === null);
    if (missing.length === 0) break;
    if (missing.length > MOST_RAW_CALLS) return null;
    const calls = missing.map((hash): RpcCall => ({ method, params: [hash] }));
    const answers = (await askInParts(ask, { head: [], calls }, signal)).flat();
    const step = startYielding();
    for (const [i, hash] of missing.entries()) {
      transactions[hashes.indexOf(hash)] = encodedAs(hash, () => rawBytes(answers[i]));
      await step();
    }
  }
  const found = transactions.filter((transaction) => transaction !== null);
  return found.length === listed.length ? { header, transactions: found } : null;
}

/** Null for each transaction that JSON does not show whole. Yields at each. */
function* encodeTransactions(
  listed: readonly Record<string, unknown>[],
  hashes: readonly Hex[],
): Generator<void, (Uint8Array | null)[]> {
  const encoded: (Uint8Array | null)[] = [];
  for (const [i, tx] of listed.entries()) {
    encoded.push(encodedAs(hashes[i] ?? '0x', () => encodeTransaction(tx)));
    yield;
  }
  return encoded;
}

function listOf(transactions: unknown): Record<string, unknown>[] {
  if (!Array.isArray(transactions)) throw new TypeError('The block has no list of transactions');
  return transactions.map(objectOf).filter((tx) => !isStateSync(tx));
}

/** Null if the answer is not a block. Yields at each transaction. */
function* rawBlockOf(answer: RpcAnswer | undefined): Generator<void, RawBlock | null> {
  const members = unlessMalformed(() => {
    const [header = [], listed] = listFrom(decodeRlp(rawBytes(answer)));
    return { header: encodeRlp(header), listed: listFrom(listed) };
  });
  if (members === null) return null;
  const transactions: Uint8Array[] = [];
  for (const tx of members.listed) {
    // A typed transaction is a byte string in the block, a legacy one a list.
    transactions.push(tx instanceof Uint8Array ? tx : encodeRlp(tx));
    yield;
  }
  return { header: members.header, transactions };
}

/** @throws ProviderError if the node refused the call or does not know the answer. */
function rawBytes(answer: RpcAnswer | undefined): Uint8Array {
  return hexToBytes(dataOf(resultOf(answer)));
}

/** Null if it does not have the hash, or cannot be encoded. */
function encodedAs(hash: Hex, encode: () => Uint8Array): Uint8Array | null {
  const encoded = unlessMalformed(encode);
  return encoded !== null && keccak(encoded) === hash ? encoded : null;
}

function keccak(bytes: Uint8Array): Hex {
  return bytesToHex(keccak_256(bytes));
}

function unlessMalformed<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProviderError || error instanceof TypeError) return null;
    throw error;
  }
}
