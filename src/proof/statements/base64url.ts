// base64url without padding (RFC 4648, section 5).

/** For a few thousand bytes: each is an argument of one call. */
export function base64urlOf(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Null for a text that is not exactly what `base64urlOf` writes: each sequence of bytes has one form. */
export function bytesOfBase64url(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return base64urlOf(bytes) === text ? bytes : null;
}

/** The form of 32 bytes, such as a SHA-256. Its last character has two bits that encode nothing. */
export const BASE64URL_32 = {
  pattern: /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/,
  name: '32 bytes as base64url',
};
