// Recognizes loopback addresses.
import { isIP } from 'node:net';

/** Whether a host, as written in a URL or alone, is the loopback interface. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host === '[::1]') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}
