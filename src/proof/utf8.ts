// Strict UTF-8 decoding.
import { StrictJsonError } from './strict-json-error.ts';

/**
 * The text of UTF-8 bytes, nothing replaced and nothing dropped: a byte order mark stays in the text,
 * where the parser refuses it.
 *
 * @throws StrictJsonError of kind `syntax` when the bytes are not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new StrictJsonError('syntax', '', 'The text is not valid UTF-8');
  }
}

/** The UTF-8 bytes of a text without lone surrogates. */
export function encodeUtf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
