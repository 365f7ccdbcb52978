import type { Hex } from '../../src/proof/bytes.ts';
import { CHUNK_BYTES } from '../../src/proof/files/digest.ts';
import type { FileEntry } from '../../src/proof/files/manifest.ts';
import type { FilePart } from '../../src/proof/files/part.ts';
import { hex, sha256, treeHash } from '../proof/reference.ts';

/** The content of the vectors: the byte at an offset is the offset modulo 251. */
export function contentOf(size: number): Buffer {
  const cycle = Buffer.from(Array.from({ length: 251 }, (_, i) => i));
  return Buffer.alloc(size, cycle);
}

/** The entry of a file, by the definitions of RFC 9162 and apart from `src/proof`. */
export function entryOf(
  name: string,
  content: Uint8Array,
  media_type = 'application/octet-stream',
): FileEntry {
  const leaves = leavesOf(content);
  const root = leaves.length === 0 ? hex(sha256('')) : treeHash(leaves);
  return { name, bytes: content.length, media_type, sha256: hex(sha256(content)), root };
}

/** A part of a file, apart from `src/proof`. */
export function partOf(
  content: Uint8Array,
  first_byte: number,
  last_byte: number,
): FilePart & { format: string } {
  const [first, last] = [first_byte, last_byte].map((byte) => Math.floor(byte / CHUNK_BYTES));
  const leaves = leavesOf(content);
  return {
    format: 'svc-part/1',
    root: treeHash(leaves),
    first_byte,
    last_byte,
    path: pathOf(leaves, first as number, last as number),
    chunks: chunksOf(content)
      .slice(first, (last as number) + 1)
      .map(hex),
  };
}

function chunksOf(content: Uint8Array): Uint8Array[] {
  return Array.from({ length: Math.ceil(content.length / CHUNK_BYTES) }, (_, i) =>
    content.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES),
  );
}

function leavesOf(content: Uint8Array) {
  return chunksOf(content).map((chunk) => hex(sha256(Buffer.concat([Buffer.of(0), chunk]))));
}

/** The roots beside a range, from left to right. */
function pathOf(leaves: readonly Hex[], first: number, last: number): Hex[] {
  if (last < 0 || first >= leaves.length) return [treeHash(leaves)];
  if (leaves.length === 1) return [];
  const half = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  const [left, right] = [leaves.slice(0, half), leaves.slice(half)];
  return [...pathOf(left, first, last), ...pathOf(right, first - half, last - half)];
}
