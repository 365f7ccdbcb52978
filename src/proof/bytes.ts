/** Bytes as `0x` and lower-case hexadecimal digits, two to the byte. */
export type Hex = `0x${string}`;

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function bytesToHex(bytes: Uint8Array): Hex {
  let digits = '';
  for (const byte of bytes) digits += DIGITS[byte];
  return `0x${digits}`;
}

/**
 * The bytes of `0x`-prefixed hex, its digits in any case.
 *
 * @throws TypeError when the text is not such hex, or not of `length` bytes.
 */
export function hexToBytes(hex: string, length?: number): Uint8Array {
  if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(hex)) throw new TypeError('Not 0x-prefixed hex');
  const bytes = new Uint8Array(hex.length / 2 - 1);
  if (length !== undefined && bytes.length !== length) {
    throw new TypeError(`Not ${length} bytes of hex`);
  }
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = Number.parseInt(hex.slice(2 * i + 2, 2 * i + 4), 16);
  return bytes;
}

/**
 * The 16 bytes of a UUID written in lower case (RFC 9562), of whatever version.
 *
 * @throws TypeError for any other text.
 */
export function uuidToBytes(uuid: string): Uint8Array {
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid)) {
    throw new TypeError('Not a UUID in lower case');
  }
  return hexToBytes(`0x${uuid.replaceAll('-', '')}`, 16);
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
