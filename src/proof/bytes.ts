// Hexadecimal text and bytes.
import { hexToBytes as bytesOf, bytesToHex as hexOf } from '@noble/hashes/utils.js';

/** Bytes as `0x` and lowercase hexadecimal digits, two per byte. */
export type Hex = `0x${string}`;

export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${hexOf(bytes)}`;
}

/**
 * The bytes of hex with the prefix `0x` and digits in any case.
 *
 * @throws TypeError if the text is not such hex, or has not `length` bytes.
 */
export function hexToBytes(hex: string, length?: number): Uint8Array {
  const digits = hex.slice(2);
  if (!hex.startsWith('0x') || hex.length % 2 === 1 || /[^0-9a-fA-F]/.test(digits)) {
    throw new TypeError('Not 0x-prefixed hex');
  }
  const bytes = bytesOf(digits);
  if (length !== undefined && bytes.length !== length) {
    throw new TypeError(`Not ${length} bytes of hex`);
  }
  return bytes;
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
