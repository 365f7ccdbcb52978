// Where connections come from. Keeps one source, or one account, from holding all of them.
import { type BlockList, isIPv6, type Socket } from 'node:net';
import { familyOf, rangesOf } from '../../rules/address-ranges.ts';

/**
 * Maximum number of connections; further ones are closed on arrival. Each waiting completion holds one, so this is far
 * above the number of robots that work at the same time. An idle one costs about 20 KB.
 */
export const MOST_CONNECTIONS = 10_000;

/** Above it, each new connection closes another one. */
const NEARLY_FULL = 9_000;

/** The part of all connections that strangers may hold before one of theirs is closed. */
const STRANGERS_PART = 0.1;

/** Connections by who holds them. */
type Holders = Map<string, Set<Socket>>;

/**
 * The connections by source, and from the first call by a valid key or session by account. Those of trusted proxies are
 * in neither list.
 */
export class Connections {
  readonly #strangers: Holders = new Map();
  readonly #accounts: Holders = new Map();
  readonly #holders = new WeakMap<Socket, { among: Holders; name: string }>();
  readonly #proxies: BlockList;
  readonly #isBusy: (socket: Socket) => boolean;
  readonly #nearlyFull: number;
  #total = 0;

  /** `isBusy`: whether a complete request of the connection awaits its response. */
  constructor(
    trustedProxies: readonly string[],
    isBusy: (socket: Socket) => boolean,
    nearlyFull = NEARLY_FULL,
  ) {
    this.#proxies = rangesOf(trustedProxies);
    this.#isBusy = isBusy;
    this.#nearlyFull = nearlyFull;
  }

  /** Counts a new connection. If there is hardly room for more, closes another one. */
  add(socket: Socket): void {
    this.#total += 1;
    socket.once('close', () => {
      this.#total -= 1;
      this.#forget(socket);
    });
    if (this.#total > this.#nearlyFull) this.#closeOne();
    const address = socket.remoteAddress ?? '';
    if (!this.isProxy(address)) this.#note(socket, this.#strangers, sourceOf(address));
  }

  /** Call it when a call of the connection was authenticated. A connection stays with its first account. */
  belongsTo(account: string, socket: Socket): void {
    if (this.#holders.get(socket)?.among !== this.#strangers) return;
    this.#forget(socket);
    this.#note(socket, this.#accounts, account);
  }

  isProxy(address: string): boolean {
    return this.#proxies.check(address, familyOf(address));
  }

  #note(socket: Socket, among: Holders, name: string): void {
    this.#holders.set(socket, { among, name });
    const connections = among.get(name) ?? new Set();
    among.set(name, connections.add(socket));
  }

  #forget(socket: Socket): void {
    const holder = this.#holders.get(socket);
    if (holder === undefined) return;
    this.#holders.delete(socket);
    const connections = holder.among.get(holder.name);
    connections?.delete(socket);
    if (connections?.size === 0) holder.among.delete(holder.name);
  }

  /** Of the source with the most connections; of the account with the most, where strangers hold few. */
  #closeOne(): void {
    const strangers = [...this.#strangers.values()].reduce((sum, { size }) => sum + size, 0);
    const isOfStranger = strangers > STRANGERS_PART * this.#total || this.#accounts.size === 0;
    const holders = isOfStranger ? this.#strangers : this.#accounts;
    let largest = new Set<Socket>();
    for (const one of holders.values()) if (one.size > largest.size) largest = one;
    const [oldest] = largest;
    // The oldest without a request that awaits its response is idle, or sends slowly.
    for (const socket of largest) {
      if (this.#isBusy(socket)) continue;
      socket.destroy();
      return;
    }
    oldest?.destroy();
  }
}

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
