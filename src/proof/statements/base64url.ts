// base64url without padding (RFC 4648, section 5).

export function base64urlOf(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Null for a text that is not exactly what `base64urlOf` writes: each sequence of bytes has one form. */
export function bytesOfBase64url(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return base64urlOf(bytes) === text ? bytes : null;
}

/** The form of 32 bytes, such as a SHA-256. Its last character has two bits that encode nothing. */
export const BASE64URL_32 = {
  pattern: /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/,
  name: '32 bytes as base64url',
};
