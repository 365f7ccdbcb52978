// Hexadecimal text and bytes.
/** Bytes as `0x` and lower-case hexadecimal digits, two to the byte. */
export type Hex = `0x${string}`;

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The value of a digit at its character code; 255 where there is none. */
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
 * The bytes of `0x`-prefixed hex, its digits in any case.
 *
 * @throws TypeError when the text is not such hex, or not of `length` bytes.
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
