// The digest of a file: SHA-256 of the whole, and the root of the tree over its chunks.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex } from '../bytes.ts';
import { nodeHash } from '../tree.ts';

/** Every chunk of a file has this size; the last one has 1 byte or more. */
export const CHUNK_BYTES = 1_048_576;

/** What identifies the content of a file. */
export interface FileDigest {
  readonly bytes: number;
  readonly sha256: Hex;
  /** RFC 9162, section 2.1.1, over the chunks; the SHA-256 of nothing if the file is empty. */
  readonly root: Hex;
}

/** The implementation of SHA-256: that of the platform, or the portable one. */
export interface Sha256 {
  readonly whole: { update(bytes: Uint8Array): unknown; digest(): Uint8Array };
  once(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** SHA-256 in JavaScript, for one file. */
export const portableSha256 = (): Sha256 => ({ whole: sha256.create(), once: sha256 });

/**
 * Hashes a file from its chunks in order, each with a byte 0 before it. A chunk is no longer used when the next but one
 * is requested, so two buffers are enough. `onLeaf` gets the hash of each chunk.
 */
export async function digestChunks(
  chunks: AsyncIterable<Uint8Array>,
  { whole, once }: Sha256,
  onLeaf: (leaf: Uint8Array) => void = () => {},
): Promise<FileDigest> {
  const iterator = chunks[Symbol.asyncIterator]();
  const tree = new ChunkTree();
  let bytes = 0;
  for (let read = await iterator.next(); !read.done; ) {
    const hashing = once(read.value);
    const reading = iterator.next();
    // Observed now, because the hash below may take longer than the read.
    reading.catch(() => {});
    whole.update(read.value.subarray(1));
    const leaf = await hashing;
    tree.add(leaf);
    bytes += read.value.length - 1;
    onLeaf(leaf);
    read = await reading;
  }
  return { bytes, sha256: bytesToHex(whole.digest()), root: bytesToHex(tree.root()) };
}

/** A Merkle tree that keeps one node for each height. */
export class ChunkTree {
  /** Roots of the complete subtrees, the largest first. */
  readonly #nodes: Uint8Array[] = [];
  #count = 0;

  add(leaf: Uint8Array): void {
    let node = leaf;
    for (let index = this.#count++; index % 2 === 1; index = (index - 1) / 2) {
      node = nodeHash(this.#nodes.pop() as Uint8Array, node);
    }
    this.#nodes.push(node);
  }

  root(): Uint8Array {
    if (this.#count === 0) return sha256(new Uint8Array());
    return this.#nodes.reduceRight((right, left) => nodeHash(left, right));
  }
}
