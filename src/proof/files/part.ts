// A part of a file: whole chunks, and the path that leads from them to the root of the file.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex, hexToBytes } from '../bytes.ts';
import type { JsonValue } from '../json-value.ts';
import { HASH, Members } from '../subject/members.ts';
import { nodeHash } from '../tree.ts';
import { CHUNK_BYTES, ChunkTree } from './digest.ts';
import type { FileEntry } from './manifest.ts';

/** The `format` of a part. */
export const PART_FORMAT = 'svc-part/1';

/** A part has at most this many chunks, so that its text stays below the longest string of JavaScript engines. */
export const MAX_PART_CHUNKS = 128;

/** Some bytes of a file: the root that names it, the first and the last byte, and the whole chunks that have them. */
export type FilePart = ReturnType<typeof readPart>;

/** @throws DocumentError if a member is missing, malformed or unknown. */
export function readPart(document: JsonValue) {
  const part = new Members('part', document);
  part.require('format', PART_FORMAT);
  const read = {
    root: part.hex('root', HASH),
    first_byte: part.integer('first_byte', 0),
    last_byte: part.integer('last_byte', 0),
    /** As `rangePath`. */
    path: part.hashes('path'),
    chunks: part.manyBytes('chunks', 'chunks', MAX_PART_CHUNKS, CHUNK_BYTES),
  };
  part.requireNoOther();
  return read;
}

/** The entry of the file that has these bytes at this place; null if there is none. */
export function fileOfPart(part: FilePart, entries: readonly FileEntry[]): FileEntry | null {
  const chunks = part.chunks.map((chunk) => hexToBytes(chunk));
  const leaves = chunks.map((chunk) => sha256.create().update(PREFIX).update(chunk).digest());
  const [first, last] = chunksOfPart(part.first_byte, part.last_byte);
  const found = entries.find(({ root, bytes }) => {
    if (part.first_byte > part.last_byte || part.last_byte >= bytes) return false;
    const isWhole = chunks.every(({ length }, i) => length === chunkSize(first + i, bytes));
    if (root !== part.root || chunks.length !== last - first + 1 || !isWhole) return false;
    return rootFromRange(leaves, first, Math.ceil(bytes / CHUNK_BYTES), part.path) === root;
  });
  return found ?? null;
}

/** The prefix of a leaf in RFC 9162. */
const PREFIX = Uint8Array.of(0x00);

/** The first and the last chunk that have these bytes. */
export function chunksOfPart(firstByte: number, lastByte: number): [number, number] {
  return [Math.floor(firstByte / CHUNK_BYTES), Math.floor(lastByte / CHUNK_BYTES)];
}

/** The size of a chunk of a file with this many bytes. */
export function chunkSize(index: number, bytes: number): number {
  return Math.min(CHUNK_BYTES, bytes - index * CHUNK_BYTES);
}

/**
 * The roots of the largest subtrees beside the leaves `first` to `last`, from left to right. `leaves` has 32 bytes for
 * each leaf.
 */
export function rangePath(leaves: Uint8Array, first: number, last: number): Hex[] {
  const path: Hex[] = [];
  const leaf = (index: number) => leaves.subarray(32 * index, 32 * index + 32);
  const range = Array.from({ length: last - first + 1 }, (_, i) => leaf(first + i));
  const beside = (start: number, size: number) => {
    const tree = new ChunkTree();
    for (let i = start; i < start + size; i++) tree.add(leaf(i));
    path.push(bytesToHex(tree.root()));
    return tree.root();
  };
  rootOf(0, leaves.length / 32, { leaves: range, first, beside });
  return path;
}

/** Null if the path does not have exactly the hashes that lead from these leaves, of `count`, to a root. */
export function rootFromRange(
  leaves: readonly Uint8Array[],
  first: number,
  count: number,
  path: readonly string[],
): Hex | null {
  let used = 0;
  const beside = () => hexToBytes(path[used++] ?? NO_HASH, 32);
  const root = rootOf(0, count, { leaves, first, beside });
  return used === path.length ? bytesToHex(root) : null;
}

const NO_HASH = `0x${'00'.repeat(32)}`;

interface Range {
  readonly leaves: readonly Uint8Array[];
  readonly first: number;
  /** The root of a subtree that has no leaf of the range. */
  beside(start: number, size: number): Uint8Array;
}

/** The root of the subtree of `size` leaves at `start` (RFC 9162, section 2.1.1). */
function rootOf(start: number, size: number, range: Range): Uint8Array {
  const { leaves, first, beside } = range;
  if (start + size <= first || start >= first + leaves.length) return beside(start, size);
  const leaf = leaves[start - first];
  if (size === 1 && leaf !== undefined) return leaf;
  let left = 1;
  while (2 * left < size) left *= 2;
  return nodeHash(rootOf(start, left, range), rootOf(start + left, size - left, range));
}
