import type { Hex } from '../../src/proof/bytes.ts';
import { bytesOf, hex, sha256 } from '../proof/reference.ts';
import { callRpc } from './anvil.ts';

interface Block {
  number: Hex;
  hash: Hex;
  timestamp: Hex;
  transactions: { hash: Hex; from: Hex; to: Hex | null; nonce: Hex; value: Hex; input: Hex }[];
}

export interface MinedTransaction {
  txHash: Hex;
  from: Hex;
  nonce: number;
  blockNumber: string;
  blockTime: string;
  input: Hex;
}

/** Every transaction of the canonical chain. */
export async function scanTransactions(rpcUrl: string): Promise<MinedTransaction[]> {
  const head = Number(await callRpc<Hex>(rpcUrl, 'eth_blockNumber'));
  const blocks = await Promise.all(
    Array.from({ length: head + 1 }, (_, number) =>
      callRpc<Block>(rpcUrl, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, true]),
    ),
  );
  return blocks.flatMap((block) =>
    block.transactions.map(({ hash, from, nonce, input }) => ({
      txHash: hash,
      from,
      nonce: Number(nonce),
      input,
      blockNumber: String(Number(block.number)),
      blockTime: new Date(Number(block.timestamp) * 1000).toISOString(),
    })),
  );
}

/** Every transaction of the canonical chain whose calldata begins with the payload's magic. */
export async function scanAnchors(rpcUrl: string): Promise<MinedTransaction[]> {
  return (await scanTransactions(rpcUrl)).filter(isAnchor);
}

export function isAnchor({ input }: MinedTransaction): boolean {
  return input.startsWith('0x52545041');
}

/** How many proofs the payloads commit to together. */
export function leavesIn(anchors: readonly MinedTransaction[]): number {
  return anchors
    .map(({ input }) => (input.slice(12, 14) === '00' ? 1 : Number.parseInt(input.slice(-8), 16)))
    .reduce((sum, count) => sum + count, 0);
}

interface Receipt {
  task_id: string;
  robot_id: string;
  proof_hash: string;
  claim_hash: string;
  /** Of signed work. */
  statement_hash?: string;
  tx_hash: string;
  block_number: string;
  anchored_at: string;
  inclusion: null | { root: string; leaf_index: number; leaf_count: number; path: string[] };
}

/** JCS for documents whose numbers and names are simple: written apart from `src/proof`. */
export function plainJcs(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(plainJcs).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${plainJcs(member)}`).join(',')}}`;
}

export function plainHash(value: unknown): Hex {
  return hex(sha256(plainJcs(value)));
}

/**
 * Whether the chain proves the receipt for this evidence and claim: the check of docs/anchoring.md, written apart
 * from `src/proof`, with node:crypto and the bytes of the calldata.
 */
export function provenBy(
  anchors: readonly MinedTransaction[],
  receipt: Receipt,
  stated: { proof: unknown; claim: Record<string, unknown> },
): boolean {
  const anchor = anchors.find(({ txHash }) => txHash === receipt.tx_hash);
  if (anchor === undefined) return false;
  const proofHash = plainHash(stated.proof);
  const claimHash = plainHash(stated.claim);
  const uuid = (id: string) => Buffer.from(id.replaceAll('-', ''), 'hex');
  const leaf = sha256(
    Buffer.concat([
      Buffer.of(0),
      bytesOf(proofHash),
      uuid(receipt.task_id),
      uuid(receipt.robot_id),
      bytesOf(claimHash),
      ...(receipt.statement_hash === undefined ? [] : [bytesOf(receipt.statement_hash)]),
    ]),
  );
  return (
    proofHash === receipt.proof_hash &&
    claimHash === receipt.claim_hash &&
    anchor.blockNumber === receipt.block_number &&
    anchor.blockTime === receipt.anchored_at &&
    anchor.input === payloadOf(proofHash, leaf, receipt.inclusion)
  );
}

function payloadOf(proofHash: Hex, leaf: Buffer, inclusion: Receipt['inclusion']): Hex {
  if (inclusion === null) {
    return `0x525450410100${proofHash.slice(2)}${leaf.toString('hex')}`;
  }
  const root = climb(leaf, inclusion.leaf_index, inclusion.leaf_count - 1, inclusion.path);
  const count = Buffer.alloc(4);
  count.writeUInt32BE(inclusion.leaf_count);
  return `0x525450410101${root.toString('hex')}${count.toString('hex')}`;
}

/** RFC 9162, section 2.1.3.2, steps 3 and 4. */
function climb(leaf: Buffer, index: number, last: number, path: readonly string[]): Buffer {
  let [fn, sn, node] = [index, last, leaf];
  for (const step of path.map(bytesOf)) {
    if (fn % 2 === 1 || fn === sn) {
      node = sha256(Buffer.concat([Buffer.of(1), step, node]));
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn >> 1, sn >> 1];
    } else {
      node = sha256(Buffer.concat([Buffer.of(1), node, step]));
    }
    [fn, sn] = [fn >> 1, sn >> 1];
  }
  if (sn !== 0) throw new Error('the path is too short');
  return node;
}
