// Where anonymous callers come from.
import { isIPv6 } from 'node:net';

/** The address of a caller. An IPv4 address that a socket for both families shows as IPv6 becomes plain. */
export function addressOf(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

/**
 * The prefix of an address that one subscriber has: an IPv4 address itself, and the first 56 bits of an IPv6 address,
 * in hex. Strangers' work is counted by it.
 */
export function sourceOf(address: string): string {
  const plain = addressOf(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = (plain.split('%', 1)[0] ?? '').split('::');
  const groups = (part = '') => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail)];
  const zeros =
    tail === undefined ? [] : Array(Math.max(0, 8 - left.length - right.length)).fill('0');
  const digits = [...left, ...zeros, ...right].map((group) => group.padStart(4, '0')).join('');
  return digits.slice(0, 14);
}
