// Bounds the connections of each source and account, and the work of strangers: public routes and unknown keys.

import { type BlockList, isIPv6, type Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { familyOf, rangesOf } from '../../../base/addresses.ts';
import type { FairQueue } from '../../../base/async/fair-queue.ts';
import { SvcError } from '../../../base/svc-error.ts';
import { type Deps, strangersQueue } from '../../core/deps.ts';
import type { createReadiness } from '../../core/operations.ts';
import { authenticateRobot } from '../../core/robots.ts';
import { hashToken } from '../../core/sessions.ts';
import { wireError } from '../../ports/errors.ts';
import { bearerKey, sessionToken } from './credentials.ts';
import { abortOnDisconnect } from './in-flight.ts';

/**
 * Maximum number of connections; further ones are closed on arrival. Each waiting completion holds one, so this is far
 * above the number of robots that work at the same time. An idle one costs about 20 KB.
 */
export const MOST_CONNECTIONS = 10_000;

/** Work in progress, of one caller and in total. */
const PUBLIC = { ofOneAtOnce: 64, atOnce: 1024 };
const LOOKUPS = { ofOneAtOnce: 16, atOnce: 64 };
/** After a restart of the server, all robots behind one address may call at once. */
const WAITING_LOOKUPS = { ofOne: MOST_CONNECTIONS, inAll: 2 * MOST_CONNECTIONS };

/** Valid credentials that are remembered. Above this count, the oldest is forgotten. */
const KNOWN = 50_000;

/** Errors that mean that a credential is no longer valid. */
const endings: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'invalid_session',
  'invalid_token',
]);

/**
 * Queues in which the sources take turns. A caller whose credential was valid at its last use counts by its account,
 * never by its address.
 */
export class StrangersWork {
  readonly #public = strangersQueue(PUBLIC);
  readonly #lookups = strangersQueue(LOOKUPS, WAITING_LOOKUPS);
  /** Wallets by the hash of a credential. */
  readonly #known = new Map<string, string>();

  /** The account of a known credential, otherwise the source. */
  callerOf(request: FastifyRequest): string {
    const credential = bearerKey(request) ?? sessionToken(request);
    const wallet = credential === null ? undefined : this.#known.get(hashToken(credential));
    return wallet ?? sourceOf(request.ip);
  }

  /** Runs the work of a public route in the turn of its caller. Throws `overloaded`. */
  run<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T> {
    return inTurn(this.#public, this.callerOf(request), request, work);
  }

  /** Looks a credential up by its hash: at once if it is known, otherwise in the turn of the source. Throws `overloaded`. */
  async lookUp<T>(
    request: FastifyRequest,
    credential: string,
    look: (hash: string) => Promise<T>,
    walletOf: (found: T) => string,
  ): Promise<T> {
    const hash = hashToken(credential);
    try {
      if (this.#known.has(hash)) return await look(hash);
      const found = await inTurn(this.#lookups, sourceOf(request.ip), request, () => look(hash));
      const [oldest = ''] = this.#known.size < KNOWN ? [] : this.#known.keys();
      this.#known.delete(oldest);
      this.#known.set(hash, walletOf(found));
      return found;
    } catch (error) {
      if (error instanceof SvcError && endings.has(error.code)) this.#known.delete(hash);
      throw error;
    }
  }
}

/** Runs `work` in the turn of `key`. A call whose connection closes gives up its place in the queue. */
function inTurn<T>(queue: FairQueue, key: string, { raw }: FastifyRequest, work: () => Promise<T>) {
  const gone = new AbortController();
  const abort = () => gone.abort(wireError('invalid_request', 'The connection was closed.'));
  return abortOnDisconnect(raw.socket, abort, () => queue.run(key, work, gone.signal));
}

/** The dependencies of a server's hooks and handlers. */
export interface HttpDeps extends Deps {
  strangersWork: StrangersWork;
  /** One reading for `/readyz` and the metrics. */
  readReadiness: ReturnType<typeof createReadiness>;
}

/** Looks a robot up by its key, and counts the call. Throws `invalid_api_key` and `overloaded`. */
export function lookUpRobot(deps: HttpDeps, request: FastifyRequest, apiKey: string) {
  return deps.strangersWork.lookUp(
    request,
    apiKey,
    (hash) => authenticateRobot(deps, apiKey, hash),
    ({ robot }) => robot.wallet,
  );
}

/** Above this count, each new connection evicts an older one. */
const NEARLY_FULL = 9_000;

/** Share of all connections that anonymous callers may hold before one of theirs is closed. */
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

  /**
   * Closes a connection of the source that has the most, or, if anonymous callers hold few, of the account that has the
   * most.
   */
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
