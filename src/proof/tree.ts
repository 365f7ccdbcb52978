// The Merkle tree of a batch, and inclusion paths in it.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex, hexToBytes } from './bytes.ts';
import { runSteps } from './run-steps.ts';

/** Leaf counts are 4 bytes on the chain. */
export const MAX_LEAF_COUNT = 0xffff_ffff;

/** A tree of `merkleTree`. */
export interface MerkleTree {
  readonly root: Hex;
  /**
   * The inclusion path of the leaf at `index`, from its sibling up (RFC 9162, section 2.1.3.1).
   *
   * @throws RangeError if no leaf has this index.
   */
  path(index: number): Hex[];
}

/** The position of a leaf, and its path to the root. */
export interface InclusionPath {
  /** From 0. */
  readonly leaf_index: number;
  readonly leaf_count: number;
  /** 32-byte hashes, from the leaf's sibling up. */
  readonly path: readonly string[];
}

/** The position of a leaf in the tree of a batch, as in receipts and bundles. */
export interface Inclusion extends InclusionPath {
  readonly root: string;
}

/**
 * The Merkle tree of RFC 9162, section 2.1.1, over hashed leaves (`leafHash`); a node is
 * `SHA-256(0x01 ‖ left ‖ right)`. Every node is computed once; a path takes time proportional to its length.
 *
 * @throws RangeError without leaves. TypeError if a leaf is not 32 bytes of hex.
 */
export function merkleTree(leaves: readonly string[]): MerkleTree {
  return runSteps(growMerkleTree(leaves));
}

/** As `merkleTree`, in steps: yields at each node. */
export function* growMerkleTree(leaves: readonly string[]): Generator<void, MerkleTree> {
  if (leaves.length === 0) throw new RangeError('A tree needs at least one leaf');
  let level: Uint8Array[] = [];
  for (const leaf of leaves) {
    level.push(hexToBytes(leaf, 32));
    yield;
  }
  // Pairing level by level, and moving an odd last node up unchanged, gives the same shape as the
  // RFC's split at the largest power of two.
  const levels = [level];
  while (level.length > 1) {
    const parents: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const right = level[i + 1];
      parents.push(right === undefined ? at(level, i) : nodeHash(at(level, i), right));
      yield;
    }
    level = parents;
    levels.push(level);
  }
  return {
    root: bytesToHex(at(level, 0)),
    path: (index) => {
      if (!isIndex(index, leaves.length)) throw new RangeError('No leaf has this index');
      return levels.flatMap((nodes, height) => {
        const sibling = nodes[Math.floor(index / 2 ** height) ^ 1];
        return sibling === undefined ? [] : [bytesToHex(sibling)];
      });
    },
  };
}

/**
 * The root that results from a leaf and its inclusion path (RFC 9162, section 2.1.3.2). Null if the index is not below
 * the count, the path does not have exactly the length that the shape of the tree requires, or a hash is malformed.
 * Compare the result with a root from the chain.
 */
export function rootFromPath(leaf: string, inclusion: InclusionPath): Hex | null {
  const { leaf_index, leaf_count, path } = inclusion;
  if (!Number.isInteger(leaf_count) || leaf_count > MAX_LEAF_COUNT) return null;
  if (!isIndex(leaf_index, leaf_count) || ![leaf, ...path].every(isHash)) return null;
  let index = leaf_index;
  let last = leaf_count - 1;
  let node = hexToBytes(leaf, 32);
  for (const step of path) {
    if (last === 0) return null;
    const sibling = hexToBytes(step, 32);
    if (index % 2 === 1 || index === last) {
      node = nodeHash(sibling, node);
      while (index % 2 === 0 && index !== 0) {
        index /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      node = nodeHash(node, sibling);
    }
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? bytesToHex(node) : null;
}

/** An inner node: `SHA-256(0x01 ‖ left ‖ right)`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const node = new Uint8Array(65);
  node[0] = 0x01;
  node.set(left, 1);
  node.set(right, 33);
  return sha256(node);
}

function isIndex(index: number, count: number): boolean {
  return Number.isInteger(index) && index >= 0 && index < count;
}

function isHash(hex: unknown): boolean {
  return typeof hex === 'string' && /^0x[0-9a-fA-F]{64}$/.test(hex);
}

function at(nodes: readonly Uint8Array[], index: number): Uint8Array {
  const node = nodes[index];
  if (node === undefined) throw new RangeError('No node has this index');
  return node;
}
