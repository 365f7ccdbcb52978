// Recursive Length Prefix, the encoding of Ethereum's headers, transactions and trie nodes (Yellow Paper, appendix B).
import { concatBytes } from '@noble/hashes/utils.js';

/** A byte string, or a list of items. */
export type RlpItem = Uint8Array | readonly RlpItem[];

/** Maximum nesting of lists. Headers need 1, transactions 4, trie nodes 5. */
const MAX_DEPTH = 8;

const EMPTY = 0x80;
const LIST = 0xc0;

/** Longest string or list whose length is in the prefix itself. */
const SHORT = 55;

export function encodeRlp(item: RlpItem): Uint8Array {
  if (!(item instanceof Uint8Array)) {
    const content = concatBytes(...item.map(encodeRlp));
    return concatBytes(prefix(LIST, content.length), content);
  }
  const [first = EMPTY] = item;
  if (item.length === 1 && first < EMPTY) return item;
  return concatBytes(prefix(EMPTY, item.length), item);
}

/**
 * Decodes exactly one item. Byte strings are views of `bytes`. Each item has one encoding only: other lengths of length,
 * single bytes with a prefix and further bytes are errors.
 *
 * @throws TypeError for anything else, and for lists nested deeper than 8.
 */
export function decodeRlp(bytes: Uint8Array): RlpItem {
  const { item, end } = itemAt(bytes, 0, 0);
  if (end !== bytes.length) throw new TypeError('Not RLP: bytes follow the item');
  return item;
}

/** The bytes of a number, big-endian without leading zeros; none for 0. */
export function quantityBytes(quantity: bigint | number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = BigInt(quantity); rest > 0n; rest >>= 8n) bytes.unshift(Number(rest & 0xffn));
  return Uint8Array.from(bytes);
}

/** The number that `quantityBytes` encodes. @throws TypeError if it starts with a zero byte or is longer than `most` bytes. */
export function quantityFrom(item: RlpItem | undefined, most = 32): bigint {
  if (!(item instanceof Uint8Array) || item.length > most || item[0] === 0) {
    throw new TypeError('Not a number in RLP');
  }
  let quantity = 0n;
  for (const byte of item) quantity = (quantity << 8n) | BigInt(byte);
  return quantity;
}

/** A byte string of an exact length. @throws TypeError */
export function bytesFrom(item: RlpItem | undefined, length: number): Uint8Array {
  if (item instanceof Uint8Array && item.length === length) return item;
  throw new TypeError(`Not ${length} bytes in RLP`);
}

/** @throws TypeError if the item is not a list. */
export function listFrom(item: RlpItem | undefined): readonly RlpItem[] {
  if (item === undefined || item instanceof Uint8Array) throw new TypeError('Not a list in RLP');
  return item;
}

function prefix(base: number, length: number): Uint8Array {
  if (length <= SHORT) return Uint8Array.of(base + length);
  const size = quantityBytes(length);
  return Uint8Array.of(base + SHORT + size.length, ...size);
}

function itemAt(bytes: Uint8Array, at: number, depth: number): { item: RlpItem; end: number } {
  const [first] = slice(bytes, at, at + 1);
  if (first === undefined) throw new TypeError('Not RLP: it ends early');
  if (first < EMPTY) return { item: slice(bytes, at, at + 1), end: at + 1 };
  const base = first < LIST ? EMPTY : LIST;
  const { start, end } = contentAt(bytes, at, first - base);
  const content = slice(bytes, start, end);
  if (base === LIST) return { item: listIn(content, depth + 1), end };
  const [only = EMPTY] = content;
  if (content.length === 1 && only < EMPTY) throw new TypeError('Not RLP: a byte needs no prefix');
  return { item: content, end };
}

function contentAt(bytes: Uint8Array, at: number, size: number): { start: number; end: number } {
  if (size <= SHORT) return { start: at + 1, end: at + 1 + size };
  const start = at + 1 + size - SHORT;
  const length = Number(quantityFrom(slice(bytes, at + 1, start), 4));
  if (length <= SHORT) throw new TypeError('Not RLP: a short length in the long form');
  return { start, end: start + length };
}

function listIn(content: Uint8Array, depth: number): RlpItem[] {
  if (depth > MAX_DEPTH) throw new TypeError('Not RLP: nested too deep');
  const items: RlpItem[] = [];
  for (let at = 0; at < content.length; ) {
    const { item, end } = itemAt(content, at, depth);
    items.push(item);
    at = end;
  }
  return items;
}

/** Like `subarray`, but never shorter than asked for. */
function slice(bytes: Uint8Array, start: number, end: number): Uint8Array {
  if (end > bytes.length) throw new TypeError('Not RLP: it ends early');
  return bytes.subarray(start, end);
}
