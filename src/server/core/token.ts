import { hash } from 'node:crypto';

/** What the store keeps of an API key or session token: the SHA-256 of its text, 64 hex digits. */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
