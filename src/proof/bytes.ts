// Hexadecimal text and bytes.
/** Bytes as `0x` and lowercase hexadecimal digits, two per byte. */
export type Hex = `0x${string}`;

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The value of a hexadecimal digit by its character code; 255 for other characters. */
const VALUES = new Uint8Array(128).fill(255);
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  VALUES[digit.charCodeAt(0)] = value;
  VALUES[digit.toUpperCase().charCodeAt(0)] = value;
}

export function bytesToHex(bytes: Uint8Array): Hex {
  let digits = '';
  for (const byte of bytes) digits += DIGITS[byte];
  return `0x${digits}`;
}

/**
 * The bytes of hex with the prefix `0x` and digits in any case.
 *
 * @throws TypeError if the text is not such hex, or has not `length` bytes.
 */
export function hexToBytes(hex: string, length?: number): Uint8Array {
  if (!hex.startsWith('0x') || hex.length % 2 === 1) throw new TypeError('Not 0x-prefixed hex');
  const bytes = new Uint8Array(hex.length / 2 - 1);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = digitAt(hex, 2 * i + 2) * 16 + digitAt(hex, 2 * i + 3);
  }
  if (length !== undefined && bytes.length !== length) {
    throw new TypeError(`Not ${length} bytes of hex`);
  }
  return bytes;
}

function digitAt(hex: string, index: number): number {
  const value = VALUES[hex.charCodeAt(index)] ?? 255;
  if (value === 255) throw new TypeError('Not 0x-prefixed hex');
  return value;
}

/**
 * The 16 bytes of a UUID in lowercase (RFC 9562), of any version.
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
