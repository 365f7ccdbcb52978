// The transactions trie of a block (Yellow Paper, appendix D): the path of a value, built and verified.
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, type Hex, hexToBytes } from './bytes.ts';
import { decodeRlp, encodeRlp, quantityBytes, type RlpItem } from './rlp.ts';

/** A node shorter than a hash is part of its parent. */
const HASH_LENGTH = 32;

/** The second half of the first byte of a leaf's or extension's path. */
const LEAF = 2;
const ODD = 1;

interface Entry {
  /** RLP of the index, in half-bytes. */
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/**
 * The root of the trie that holds each value under the key RLP(index), and the path of the value at `index`, in steps:
 * yields at each node. Values are not empty. `nodes`: RLP of the nodes from the root down. A node under 32 bytes is part
 * of its parent and has no entry of its own.
 *
 * @throws RangeError if no value has this index.
 */
export function* growTrieProof(
  values: readonly Uint8Array[],
  index: number,
): Generator<void, { root: Hex; nodes: Hex[] }> {
  const entries = values.map((value, i): Entry => ({ key: keyOf(i), value }));
  const target = entries[index];
  if (target === undefined) throw new RangeError('No value has this index');
  const nodes: Hex[] = [];
  const root = encodeRlp(yield* nodeOf(entries, 0, target, nodes));
  return { root: bytesToHex(keccak_256(root)), nodes: [bytesToHex(root), ...nodes] };
}

/**
 * The value under the key RLP(index), which `nodes` prove from the root down. Null unless every node is used, is in
 * canonical RLP and form, and has the hash that its parent states.
 */
export function valueInTrie(root: Hex, index: number, nodes: readonly Hex[]): Uint8Array | null {
  try {
    return follow(root, keyOf(index), nodes);
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return null;
    throw error;
  }
}

/** The node of the entries that share the first `depth` half-bytes. Adds the nodes below it towards `target`. */
function* nodeOf(
  entries: readonly Entry[],
  depth: number,
  target: Entry,
  nodes: Hex[],
): Generator<void, RlpItem> {
  const [first, ...others] = entries;
  if (first === undefined) return new Uint8Array();
  if (others.length === 0) return [packed(first.key.subarray(depth), LEAF), first.value];
  const end = sharedEnd(entries, depth);
  if (end > depth) {
    const child = yield* linkTo(entries, end, target, nodes);
    return [packed(first.key.subarray(depth, end), 0), child];
  }
  const slots: Entry[][] = Array.from({ length: 16 }, () => []);
  for (const entry of entries) slots[entry.key[depth] ?? 0]?.push(entry);
  // No key is the start of another, so that no branch has a value of its own.
  const node: RlpItem[] = [];
  for (const slot of slots) node.push(yield* linkTo(slot, depth + 1, target, nodes));
  return [...node, new Uint8Array()];
}

function* linkTo(
  entries: readonly Entry[],
  depth: number,
  target: Entry,
  nodes: Hex[],
): Generator<void, RlpItem> {
  const node = yield* nodeOf(entries, depth, target, nodes);
  if (entries.length === 0) return node;
  yield;
  const encoded = encodeRlp(node);
  if (encoded.length < HASH_LENGTH) return node;
  if (entries.includes(target)) nodes.unshift(bytesToHex(encoded));
  return keccak_256(encoded);
}

function sharedEnd([first, ...others]: readonly Entry[], depth: number): number {
  let end = depth;
  while (others.every(({ key }) => key[end] === first?.key[end])) end += 1;
  return end;
}

/** @throws TypeError, RangeError if the nodes do not lead from the root to a value. */
function follow(root: Hex, key: Uint8Array, nodes: readonly Hex[]): Uint8Array {
  let [used, at] = [0, 0];
  let link: RlpItem = hexToBytes(root, HASH_LENGTH);
  for (;;) {
    let node: RlpItem = link;
    if (link instanceof Uint8Array) {
      const encoded = hexToBytes(nodes[used] ?? '', undefined);
      if (bytesToHex(keccak_256(encoded)) !== bytesToHex(link)) throw new TypeError('Wrong hash');
      // A short node other than the root is part of its parent.
      if (used > 0 && encoded.length < HASH_LENGTH) throw new TypeError('A short node by hash');
      node = decodeRlp(encoded);
      used += 1;
    } else if (encodeRlp(link).length >= HASH_LENGTH) {
      throw new TypeError('A long node inside another');
    }
    const next = stepInto(node, key.subarray(at));
    at += next.steps;
    if (next.isValue) {
      if (used !== nodes.length) throw new TypeError('An unused node');
      return next.item;
    }
    link = next.item;
  }
}

type Step =
  | { readonly isValue: true; readonly item: Uint8Array; readonly steps: number }
  | { readonly isValue: false; readonly item: RlpItem; readonly steps: number };

function stepInto(node: RlpItem, rest: Uint8Array): Step {
  if (node instanceof Uint8Array) throw new TypeError('Not a node');
  const [first, second] = node;
  if (node.length === 17) {
    const item = node[rest[0] ?? 17];
    if (item === undefined) throw new TypeError('The key ends at a branch');
    if (item instanceof Uint8Array && item.length !== HASH_LENGTH) throw new TypeError('No child');
    return { isValue: false, item, steps: 1 };
  }
  if (node.length !== 2 || !(first instanceof Uint8Array) || second === undefined) {
    throw new TypeError('Not a node');
  }
  const { path, isLeaf } = unpacked(first);
  if (!path.every((half, i) => half === rest[i])) throw new TypeError('Another key');
  if (!isLeaf) {
    if (path.length === 0) throw new TypeError('An extension without a path');
    if (second instanceof Uint8Array && second.length !== HASH_LENGTH)
      throw new TypeError('No child');
    return { isValue: false, item: second, steps: path.length };
  }
  if (path.length !== rest.length || !(second instanceof Uint8Array) || second.length === 0) {
    throw new TypeError('Not the leaf of the key');
  }
  return { isValue: true, item: second, steps: path.length };
}

/** @throws RangeError if the index is not a safe whole number from 0. */
function keyOf(index: number): Uint8Array {
  if (!Number.isSafeInteger(index) || index < 0) throw new RangeError('Not an index');
  return halves(encodeRlp(quantityBytes(index)));
}

function halves(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from({ length: 2 * bytes.length }, (_, i) => {
    const byte = bytes[i >> 1] ?? 0;
    return i % 2 === 0 ? byte >> 4 : byte & 15;
  });
}

/** A path as bytes, its kind and parity in front ("hex prefix", Yellow Paper, appendix C). */
function packed(path: Uint8Array, kind: number): Uint8Array {
  const odd = path.length % 2;
  const all = odd === 1 ? [kind | ODD, ...path] : [kind, 0, ...path];
  return Uint8Array.from({ length: all.length / 2 }, (_, i) => {
    return ((all[2 * i] ?? 0) << 4) | (all[2 * i + 1] ?? 0);
  });
}

/** @throws TypeError unless `packed` returns it. */
function unpacked(bytes: Uint8Array): { path: Uint8Array; isLeaf: boolean } {
  const [kind = 15, second = 15, ...rest] = halves(bytes);
  const isOdd = (kind & ODD) !== 0;
  if (kind > (LEAF | ODD) || (!isOdd && second !== 0)) throw new TypeError('Not a path');
  return { path: Uint8Array.from(isOdd ? [second, ...rest] : rest), isLeaf: (kind & LEAF) !== 0 };
}
