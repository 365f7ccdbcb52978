import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, type Hex, hexToBytes } from '../../src/proof/bytes.ts';
import type { ChainProof } from '../../src/proof/chain-proof.ts';
import { encodeRlp, quantityBytes } from '../../src/proof/rlp.ts';
import { runSteps } from '../../src/proof/run-steps.ts';
import { growTrieProof } from '../../src/proof/trie.ts';

/** The trie's root and the path of the value at `index`. */
export const trieProof = (values: readonly Uint8Array[], index: number) =>
  runSteps(growTrieProof(values, index));

interface SyntheticBlock {
  blockNumber: bigint;
  blockHash: Hex;
  txIndex: number;
  proof: ChainProof;
}

/** A block of any number that holds `rawTx` between two other transactions; nothing is mined. */
export function blockWith(rawTx: Hex, blockNumber = 5n): SyntheticBlock {
  const others = [Uint8Array.of(2, 1), Uint8Array.of(2, 2)];
  const [before, after] = others.map((bytes) => Uint8Array.of(...bytes, ...new Uint8Array(40)));
  const transactions = [before, hexToBytes(rawTx), after].filter((bytes) => bytes !== undefined);
  const { root, nodes } = trieProof(transactions, 1);
  const hash = new Uint8Array(32);
  const header = encodeRlp([
    ...[hash, hash, new Uint8Array(20), hash, hexToBytes(root), hash, new Uint8Array(256)],
    ...[0n, blockNumber, 30_000_000n, 63_000n, 1_767_225_600n].map(quantityBytes),
    ...[new Uint8Array(), hash, new Uint8Array(8)],
  ]);
  const proof = { header: bytesToHex(header), nodes };
  return { blockNumber, blockHash: bytesToHex(keccak_256(header)), txIndex: 1, proof };
}
