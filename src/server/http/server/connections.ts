// Keeps one source from holding all connections.
import type { BlockList, Socket } from 'node:net';
import { familyOf, rangesOf } from '../../rules/address-ranges.ts';
import { sourceOf } from './sources.ts';

/**
 * Maximum number of connections; further ones are closed on arrival. Each waiting completion holds one, so this is far
 * above the number of robots that work at the same time. An idle one costs about 20 KB.
 */
export const MOST_CONNECTIONS = 10_000;

/** Above it, each new connection closes one of a stranger. */
const NEARLY_FULL = 9_000;

/**
 * The connections of strangers, by source. A connection leaves the list with its first call by a valid key or session;
 * those of trusted proxies are never in it.
 */
export class StrangersConnections {
  readonly #bySource = new Map<string, Set<Socket>>();
  readonly #sources = new WeakMap<Socket, string>();
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

  /** Counts a new connection. If there is hardly room for more, closes one of the source with the most. */
  add(socket: Socket): void {
    this.#total += 1;
    socket.once('close', () => {
      this.#total -= 1;
      this.forget(socket);
    });
    if (this.#total > this.#nearlyFull) this.#closeOne();
    const address = socket.remoteAddress ?? '';
    if (this.isProxy(address)) return;
    const source = sourceOf(address);
    this.#sources.set(socket, source);
    const connections = this.#bySource.get(source) ?? new Set();
    this.#bySource.set(source, connections.add(socket));
  }

  /** Call it when a call of the connection was authenticated. */
  forget(socket: Socket): void {
    const source = this.#sources.get(socket);
    if (source === undefined) return;
    this.#sources.delete(socket);
    const connections = this.#bySource.get(source);
    connections?.delete(socket);
    if (connections?.size === 0) this.#bySource.delete(source);
  }

  isProxy(address: string): boolean {
    return this.#proxies.check(address, familyOf(address));
  }

  /** Prefers the oldest without a request that awaits its response: it is idle, or sends slowly. */
  #closeOne(): void {
    let largest: Set<Socket> | undefined;
    for (const one of this.#bySource.values()) if (one.size > (largest?.size ?? 0)) largest = one;
    if (largest === undefined) return;
    const [oldest] = largest;
    for (const socket of largest) {
      if (this.#isBusy(socket)) continue;
      socket.destroy();
      return;
    }
    oldest?.destroy();
  }
}
