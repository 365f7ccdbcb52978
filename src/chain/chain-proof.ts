// Proves transactions by their block: builds the chain proof of one, and reads the anchors that a block's hash covers.
import { keccak_256 } from '@noble/hashes/sha3.js';
import { runYielding, startYielding } from '../base/async/cooperative-yield.ts';
import { orNull } from '../base/or-null.ts';
import { type BlockHeader, readBlockHeader } from '../proof/block-header.ts';
import { bytesToHex, type Hex, hexToBytes } from '../proof/bytes.ts';
import { decodePayload } from '../proof/payload.ts';
import { decodeRlp, encodeRlp, listFrom } from '../proof/rlp.ts';
import { readSignedTransaction, type SignedTransaction } from '../proof/signed-transaction.ts';
import { type ChainProof, MAX_HEADER_BYTES } from '../proof/subject/anchor-members.ts';
import { MAX_NODE_BYTES } from '../proof/subject/members.ts';
import { growTrieProof } from '../proof/trie.ts';
import { encodeHeader, encodeReceipt, encodeTransaction, isStateSync } from './block-encoding.ts';
import { dataOf, malformed, objectOf, quantityOf } from './decode.ts';
import { ProviderError } from './errors.ts';
import { type Ask, askInParts, type RpcAnswer, type RpcCall, resultOf } from './rpc.ts';

/** The large reads that only proofs of a block make. */
export const chainProofCalls: ReadonlySet<string> = new Set([
  'eth_getBlockByHash',
  'eth_getRawTransactionByHash',
  'debug_getRawTransaction',
  'debug_getRawBlock',
  'eth_getBlockReceipts',
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

/** An anchor in a block: transaction and receipt have the index `txIndex` in its tries. */
interface ProvenAnchor {
  readonly txIndex: number;
  readonly tx: SignedTransaction;
  readonly status: 'success' | 'reverted';
}

/** A header that has the hash of the block, and the anchors that its transactions and receipts root cover. */
export interface ProvenBlock extends Pick<BlockHeader, 'hash' | 'number'> {
  /** By the hash of the transaction. */
  readonly anchors: ReadonlyMap<Hex, ProvenAnchor>;
}

/**
 * Reads a block and its receipts, in two calls. Null unless the hash covers all of what the node returned: then nothing
 * is proven. Rejects with ProviderError if the node does not answer.
 */
export async function readProvenBlock(ask: Ask, hash: Hex): Promise<ProvenBlock | null> {
  const block = await readJsonBlock(ask, hash, undefined);
  const encoded = block && (await encodeJson(block, hash));
  const header = encoded && unlessMalformed(() => readBlockHeader(bytesToHex(encoded.header)));
  if (!header || !(await isUnder(header.transactionsRoot, encoded.transactions))) return null;
  const [answer] = await ask([{ method: 'eth_getBlockReceipts', params: [hash] }]);
  const receipts = await runYielding(encodeReceipts(answer, encoded.hashes));
  const values = receipts.map((receipt) => receipt?.bytes ?? null);
  if (!(await isUnder(header.receiptsRoot, values))) return null;
  const anchors = await runYielding(anchorsIn(encoded, receipts));
  return { hash, number: header.number, anchors };
}

async function isUnder(root: Hex, values: readonly (Uint8Array | null)[]): Promise<boolean> {
  const found = values.filter((value) => value !== null);
  if (found.length === 0 || found.length < values.length) return false;
  return (await runYielding(growTrieProof(found, 0))).root === root;
}

type Receipt = Pick<ProvenAnchor, 'status'> & { readonly bytes: Uint8Array };

/** In the order of the transactions; null for each that is missing or malformed. Yields at each. */
function* encodeReceipts(
  answer: RpcAnswer | undefined,
  hashes: readonly Hex[],
): Generator<void, (Receipt | null)[]> {
  // By hash: some nodes of Polygon add a receipt that belongs to no transaction of the block.
  const byHash = unlessMalformed(
    () => new Map(listOf(resultOf(answer)).map((one) => [dataOf(one.transactionHash), one])),
  );
  const encoded: (Receipt | null)[] = [];
  for (const hash of hashes) {
    const receipt = byHash?.get(hash);
    encoded.push(unlessMalformed(() => receiptFrom(objectOf(receipt))));
    yield;
  }
  return encoded;
}

function receiptFrom(receipt: Record<string, unknown>): Receipt {
  const status = quantityOf(receipt.status) === 1n ? 'success' : 'reverted';
  return { status, bytes: encodeReceipt(receipt) };
}

/** The transactions with the calldata of an anchor. Yields at each. */
function* anchorsIn(
  { listed, hashes, transactions }: EncodedBlock,
  receipts: readonly (Receipt | null)[],
): Generator<void, Map<Hex, ProvenAnchor>> {
  const anchors = new Map<Hex, ProvenAnchor>();
  for (const [txIndex, hash] of hashes.entries()) {
    yield;
    const { input } = listed[txIndex] ?? {};
    const [bytes, receipt] = [transactions[txIndex], receipts[txIndex]];
    if (typeof input !== 'string' || decodePayload(input) === null || !bytes || !receipt) continue;
    const tx = unlessMalformed(() => readSignedTransaction(bytesToHex(bytes)));
    if (tx !== null) anchors.set(hash, { txIndex, tx, status: receipt.status });
  }
  return anchors;
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

/** What JSON shows of a block, in the encoding that has the stated hashes. */
interface EncodedBlock {
  readonly header: Uint8Array;
  readonly listed: readonly Record<string, unknown>[];
  readonly hashes: readonly Hex[];
  /** Null for each that JSON does not show whole. */
  readonly transactions: (Uint8Array | null)[];
}

/** Null if the header does not have the hash, or the transactions are not listed. */
async function encodeJson(
  block: Record<string, unknown>,
  blockHash: Hex,
): Promise<EncodedBlock | null> {
  const header = encodedAs(blockHash, () => encodeHeader(block));
  // Some nodes list only hashes, whatever was asked for.
  const listed = unlessMalformed(() => listOf(block.transactions));
  if (header === null || listed === null) return null;
  const hashes = listed.map((tx) => dataOf(tx.hash));
  return {
    header,
    listed,
    hashes,
    transactions: await runYielding(encodeTransactions(listed, hashes)),
  };
}

/** Null if no encoding of the header or of a transaction has its stated hash. */
async function encodeBlock(
  ask: Ask,
  block: Record<string, unknown>,
  { place, signal }: { place: BlockPlace; signal: AbortSignal | undefined },
): Promise<RawBlock | null> {
  const shown = await encodeJson(block, place.blockHash);
  if (shown === null) return null;
  const { header, listed, hashes, transactions } = shown;
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

function listOf(listed: unknown): Record<string, unknown>[] {
  if (!Array.isArray(listed)) throw malformed();
  return listed.map(objectOf).filter((entry) => !isStateSync(entry));
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
  return orNull(read, [ProviderError, TypeError]);
}
