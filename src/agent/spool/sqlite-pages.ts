// Decodes table rows from single pages of a SQLite file, however damaged the rest of the file is.
import { orNull } from '../../base/or-null.ts';
import { PAGE_BYTES } from './database.ts';

/** A column value. Blobs decode to null, because the spool stores none. */
export type Value = string | number | null;

/** A page by its number; null if there is none. */
export type PageAt = (number: number) => Buffer | null;

/**
 * Every complete row on `page`, if it is a leaf page of a table: https://www.sqlite.org/fileformat2.html,
 * sections 1.6 and 2. The rowid comes first. `pageAt` provides overflow pages. Malformed rows are skipped.
 * Rows may still be outdated or wrong, and the caller must check them.
 */
export function* rowsOf(page: Buffer, pageAt: PageAt): Generator<Value[]> {
  if (page[0] !== LEAF) return;
  const cells = page.readUInt16BE(3);
  for (let i = 0; i < cells; i++) {
    const at = HEADER_BYTES + 2 * i;
    if (at + 2 > PAGE_BYTES) return;
    // A read past the end of damaged bytes.
    const row = orNull(
      () => readCell(page, page.readUInt16BE(at), pageAt),
      [RangeError, TypeError],
    );
    if (row !== null) yield row;
  }
}

const LEAF = 0x0d;
const HEADER_BYTES = 8;
/** Longer than any row of the spool. */
const MOST_PAYLOAD = 16 * 1024 * 1024;

function readCell(page: Buffer, at: number, pageAt: PageAt): Value[] {
  const length = readVarint(page, at);
  const rowid = readVarint(page, length.next);
  if (length.value > MOST_PAYLOAD) throw new RangeError('Longer than any row');
  const payload = readPayload(page, rowid.next, length.value, pageAt);
  // The cell stores the rowid. Its column in the record is empty.
  const [, ...values] = readRecord(payload);
  return [rowid.value, ...values];
}

/** The cell holds the start of the payload, and a chain of overflow pages the rest. */
function readPayload(page: Buffer, at: number, length: number, pageAt: PageAt): Buffer {
  const most = PAGE_BYTES - 35;
  if (length <= most) return whole(page.subarray(at, at + length), length);
  const least = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;
  const fitting = least + ((length - least) % (PAGE_BYTES - 4));
  const local = fitting <= most ? fitting : least;
  const parts = [page.subarray(at, at + local)];
  let missing = length - local;
  let next = page.readUInt32BE(at + local);
  while (missing > 0) {
    const overflow = pageAt(next);
    if (overflow === null) throw new RangeError('The chain ends too early');
    const part = overflow.subarray(4, 4 + Math.min(missing, PAGE_BYTES - 4));
    parts.push(part);
    missing -= part.length;
    next = overflow.readUInt32BE(0);
  }
  return whole(Buffer.concat(parts), length);
}

function whole(bytes: Buffer, length: number): Buffer {
  if (bytes.length !== length) throw new RangeError('Cut short');
  return bytes;
}

function readRecord(payload: Buffer): Value[] {
  const header = readVarint(payload, 0);
  if (header.value > payload.length) throw new RangeError('No header');
  const values: Value[] = [];
  let at = header.next;
  let body = header.value;
  while (at < header.value) {
    const type = readVarint(payload, at);
    at = type.next;
    const bytes = bytesOf(type.value);
    values.push(readValue(whole(payload.subarray(body, body + bytes), bytes), type.value));
    body += bytes;
  }
  return values;
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function bytesOf(type: number): number {
  return type < 12 ? (INTEGER_BYTES[type] ?? 0) : (type - (type % 2) - 12) / 2;
}

function readValue(bytes: Buffer, type: number): Value {
  if (type === 0) return null;
  if (type === 7) return bytes.readDoubleBE(0);
  if (type === 8 || type === 9) return type - 8;
  if (type === 6) return Number(bytes.readBigInt64BE(0));
  if (type < 7) return bytes.readIntBE(0, bytes.length);
  return type >= 13 && type % 2 === 1 ? bytes.toString('utf8') : null;
}

/**
 * Big-endian, seven bits per byte, all eight of the ninth. Values above 53 bits lose precision; the spool
 * stores none.
 */
function readVarint(bytes: Buffer, at: number): { value: number; next: number } {
  let value = 0;
  for (let i = 0; i < 9; i++) {
    const byte = bytes.readUInt8(at + i);
    if (i === 8) return { value: value * 256 + byte, next: at + 9 };
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, next: at + i + 1 };
  }
  throw new RangeError('No varint');
}
