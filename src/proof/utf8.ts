// Strict UTF-8 decoding.
import { StrictJsonError } from './strict-json-error.ts';

/**
 * Decodes UTF-8 without replacing or dropping anything. A byte order mark remains in the text,
 * and the parser refuses it.
 *
 * @throws StrictJsonError of kind `syntax` if the bytes are not UTF-8.
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
