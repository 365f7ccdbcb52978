// Decides where webhooks may connect to, and when a failed message is tried again.
import { isIP } from 'node:net';
import { familyOf, rangesOf } from '../../base/addresses.ts';
import type { Retry } from '../ports/webhooks.ts';

/** IPv4 ranges that are not public: private, loopback, link-local, CGNAT, multicast, documentation and metadata. */
const REFUSED_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/3', '168.63.129.16/32'],
];
/** Only global unicast is public. NAT64, mapped and local addresses are outside of it. */
const PUBLIC_IPV6 = ['2000::/3'];
/** Special uses with Teredo, documentation, 6to4 and segment routing. */
const REFUSED_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const refused = rangesOf([...REFUSED_IPV4, ...REFUSED_IPV6]);
const publicIpv6 = rangesOf(PUBLIC_IPV6);

/** Whether webhooks may connect to an address. */
export type MayConnect = (address: string) => boolean;

/** `allowed`: ranges that the operator allows although they are not public, such as `10.1.0.0/16`. */
export function connectionRule(allowed: readonly string[]): MayConnect {
  const exceptions = rangesOf(allowed);
  return (address) => {
    const family = familyOf(address);
    if (isIP(address) === 0) return false;
    if (exceptions.check(address, family)) return true;
    return (
      !refused.check(address, family) && (family === 'ipv4' || publicIpv6.check(address, 'ipv6'))
    );
  };
}

/** The rule for webhooks of a wallet: the ranges are open to the named wallets only. */
export function connectionRules(allowed: readonly string[], wallets: readonly string[]) {
  const [ofAll, ofNamed] = [connectionRule([]), connectionRule(allowed)];
  const named = new Set(wallets.map((wallet) => wallet.toLowerCase()));
  return (wallet: string): MayConnect => (named.has(wallet.toLowerCase()) ? ofNamed : ofAll);
}

/**
 * Why webhooks refuse the URL, or null. Names are checked when they are resolved. `localHttp` accepts http to this
 * machine, by an address that needs no resolution.
 */
export function refusalOfUrl(
  text: string,
  mayConnect: MayConnect,
  localHttp = false,
): string | null {
  if (!URL.canParse(text)) return 'it is not a URL';
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return 'it has credentials';
  const isLocal = protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(hostname);
  if (localHttp && isLocal) return null;
  if (protocol !== 'https:') return 'it is not https';
  // The parser has normalized numbers such as 0x7f.1 to an address.
  const literal = hostname.replace(/^\[|\]$/g, '');
  return isIP(literal) !== 0 && !mayConnect(literal) ? 'its address is not public' : null;
}

const MINUTE_MS = 60_000;
/** Pauses after failures; the last one repeats. */
const PAUSES_MS = [
  5_000,
  30_000,
  ...[2, 10, 30, 60, 120, 240].map((minutes) => minutes * MINUTE_MS),
];
/** The longest waits after a failure, and without one: until the next hour, when the attempts of this one are used up. */
export const LONGEST_PAUSE_MS = Math.max(...PAUSES_MS);
export const LONGEST_DEFERRAL_MS = 60 * MINUTE_MS;
const GIVE_UP_MS = 3 * 24 * 60 * MINUTE_MS;
/** Fewer failures disable no webhook: the clock may have jumped. */
const GIVE_UP_FAILURES = 20;

/** What follows a failed attempt. `failures` and `failingSince` are of the attempts before, since the last success. */
export function afterFailure(failures: number, failingSince: number | null, now: number): Retry {
  const isLong = failingSince !== null && now - failingSince >= GIVE_UP_MS;
  if (isLong && failures + 1 >= GIVE_UP_FAILURES) return { disable: 'failures' };
  return { at: now + (PAUSES_MS[failures] ?? LONGEST_PAUSE_MS) };
}
