import { createHash } from 'node:crypto';
import type { Hex } from '../../src/proof/bytes.ts';

/** The definitions of RFC 9162, written down as they stand there, apart from `src/proof`. */

export function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest();
}

export function hex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

export function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex');
}

/** MTH of section 2.1.1, over leaves that are hashed already. */
export function treeHash(leaves: readonly Hex[]): Hex {
  const [only] = leaves;
  if (only !== undefined && leaves.length === 1) return only;
  const k = split(leaves.length);
  const halves = [treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k))].map(bytesOf);
  return hex(sha256(Buffer.concat([Buffer.of(1), ...halves])));
}

/** PATH of section 2.1.3.1. */
export function treePath(index: number, leaves: readonly Hex[]): Hex[] {
  if (leaves.length === 1) return [];
  const k = split(leaves.length);
  return index < k
    ? [...treePath(index, leaves.slice(0, k)), treeHash(leaves.slice(k))]
    : [...treePath(index - k, leaves.slice(k)), treeHash(leaves.slice(0, k))];
}

/** The largest power of two smaller than `count`. */
function split(count: number): number {
  let k = 1;
  while (2 * k < count) k *= 2;
  return k;
}
