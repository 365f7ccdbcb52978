// A part of a file: whole chunks, and the path that leads from them to the root of the file.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, type Hex, hexToBytes } from '../bytes.ts';
import type { JsonValue } from '../json-value.ts';
import { HASH, Members } from '../subject/members.ts';
import { nodeHash } from '../tree.ts';
import { CHUNK_BYTES } from './digest.ts';
import type { FileEntry } from './manifest.ts';

/** The `format` of a part. */
export const PART_FORMAT = 'svc-part/1';

/** A part has at most this many chunks, so that its text stays below the longest string of JavaScript engines. */
export const MAX_PART_CHUNKS = 128;

/** Some bytes of a file. */
export interface FilePart {
  readonly format: typeof PART_FORMAT;
  /** Names the file. */
  readonly root: Hex;
  readonly first_byte: number;
  /** Inclusive. */
  readonly last_byte: number;
  /** From the leaves up, the left one first. */
  readonly path: readonly Hex[];
  /** The whole chunks that have these bytes. */
  readonly chunks: readonly Hex[];
}

/** @throws DocumentError if a member is missing, malformed or unknown. */
export function readPart(document: JsonValue): FilePart {
  const part = new Members('part', document);
  part.require('format', PART_FORMAT);
  const read: FilePart = {
    format: PART_FORMAT,
    root: part.hex('root', HASH),
    first_byte: part.integer('first_byte', 0),
    last_byte: part.integer('last_byte', 0),
    path: part.hashes('path'),
    chunks: part.manyBytes('chunks', 'chunks', MAX_PART_CHUNKS, CHUNK_BYTES),
  };
  part.requireNoOther();
  return read;
}

/** The first and the last chunk that have these bytes. */
export function chunksOfPart(firstByte: number, lastByte: number): [number, number] {
  return [Math.floor(firstByte / CHUNK_BYTES), Math.floor(lastByte / CHUNK_BYTES)];
}

/** The entry of the file that has these bytes at this place; null if there is none. */
export function fileOfPart(part: FilePart, entries: readonly FileEntry[]): FileEntry | null {
  const chunks = part.chunks.map((chunk) => hexToBytes(chunk));
  const leaves = chunks.map((chunk) => sha256.create().update(PREFIX).update(chunk).digest());
  const path = part.path.map((hash) => hexToBytes(hash, 32));
  const [first, last] = chunksOfPart(part.first_byte, part.last_byte);
  const found = entries.find(({ root, bytes }) => {
    if (root !== part.root || part.first_byte > part.last_byte || part.last_byte >= bytes) {
      return false;
    }
    const isWhole = chunks.every(({ length }, i) => length === chunkSize(first + i, bytes));
    if (chunks.length !== last - first + 1 || !isWhole) return false;
    const reached = rootFromRange(leaves, first, Math.ceil(bytes / CHUNK_BYTES), path);
    return reached !== null && bytesToHex(reached) === root;
  });
  return found ?? null;
}

const PREFIX = Uint8Array.of(0x00);

/** The size of a chunk of a file with this many bytes. */
export function chunkSize(index: number, bytes: number): number {
  return Math.min(CHUNK_BYTES, bytes - index * CHUNK_BYTES);
}

/**
 * The hashes that lead from the leaves `first` to `last` to the root. `leaves` has 32 bytes for each leaf of the file,
 * and is overwritten.
 */
export function rangePath(leaves: Uint8Array, first: number, last: number): Hex[] {
  const path: Hex[] = [];
  const node = (index: number) => leaves.subarray(32 * index, 32 * index + 32);
  let [from, to, count] = [first, last, leaves.length / 32];
  for (; count > 1; count = Math.ceil(count / 2)) {
    if (from % 2 === 1) path.push(bytesToHex(node(from - 1)));
    if (to % 2 === 0 && to + 1 < count) path.push(bytesToHex(node(to + 1)));
    for (let i = 0; i < count; i += 2) {
      leaves.set(i + 1 < count ? nodeHash(node(i), node(i + 1)) : node(i), 16 * i);
    }
    [from, to] = [Math.floor(from / 2), Math.floor(to / 2)];
  }
  return path;
}

/** Null if the path does not have exactly the hashes that lead from these leaves, of `count`, to a root. */
export function rootFromRange(
  leaves: readonly Uint8Array[],
  first: number,
  count: number,
  path: readonly Uint8Array[],
): Uint8Array | null {
  const rest = [...path];
  let nodes = [...leaves];
  let from = first;
  for (let size = count; size > 1; size = Math.ceil(size / 2)) {
    const end = from + nodes.length;
    const lefts = from % 2;
    const rights = end % 2 === 1 && end < size ? 1 : 0;
    if (rest.length < lefts + rights) return null;
    nodes = parentsOf([...rest.splice(0, lefts), ...nodes, ...rest.splice(0, rights)]);
    from = Math.floor(from / 2);
  }
  return rest.length === 0 ? (nodes[0] ?? null) : null;
}

function parentsOf(nodes: readonly Uint8Array[]): Uint8Array[] {
  const parents: Uint8Array[] = [];
  for (let i = 0; i < nodes.length; i += 2) {
    const [left, right] = nodes.slice(i, i + 2) as [Uint8Array, Uint8Array?];
    parents.push(right === undefined ? left : nodeHash(left, right));
  }
  return parents;
}
