// Bounds the memory of request bodies that are arriving or waiting to be parsed.
import { wireError } from '../../ports/errors.ts';

const MIB = 1024 * 1024;

/** Maximum size of bodies in memory, in bytes: of one account, of all callers without an account, and in total. */
const HELD = { ofOne: 32 * MIB, ofStrangers: 32 * MIB, inAll: 128 * MIB };

/** What a chunk takes beside its bytes: a body may arrive byte by byte. */
const CHUNK_BYTES = 256;

export interface HeldBody {
  /** The account, or the source of a caller without one. */
  readonly account: string;
  readonly isStranger: boolean;
  /** Ends the request with the error. Called at most once, if another account needs the memory. */
  fail: (error: Error) => void;
  bytes: number;
}

/** The bodies of one account or source. */
interface Holder {
  readonly isStranger: boolean;
  bytes: number;
  readonly bodies: Set<HeldBody>;
}

/**
 * The bodies in memory. Only bytes that arrived count: what a caller announces costs nothing. Above the total, bodies of
 * the account that holds the most are refused, so that no account can keep another from being heard. Callers without an
 * account share a smaller total, and refuse each other first.
 */
export class HeldBodies {
  readonly #accounts = new Map<string, Holder>();
  #bytes = 0;
  #strangersBytes = 0;

  /** Counts a body. It stays counted until `release` or `fail`. */
  hold(account: string, isStranger: boolean, fail: HeldBody['fail']): HeldBody {
    const body = { account, isStranger, fail, bytes: 0 };
    const held = this.#accounts.get(account) ?? { isStranger, bytes: 0, bodies: new Set() };
    held.bodies.add(body);
    this.#accounts.set(account, held);
    return body;
  }

  /** Counts bytes that arrived. Does nothing once the body was released. */
  grow(body: HeldBody, bytes: number): void {
    const held = this.#accounts.get(body.account);
    if (!held?.bodies.has(body)) return;
    this.#count(held, body, bytes + CHUNK_BYTES);
    if (held.bytes > HELD.ofOne) this.#refuse(body);
    while (this.#strangersBytes > HELD.ofStrangers)
      this.#refuseLargest(({ isStranger }) => isStranger);
    while (this.#bytes > HELD.inAll) this.#refuseLargest(() => true);
  }

  release(body: HeldBody): void {
    const held = this.#accounts.get(body.account);
    if (!held?.bodies.delete(body)) return;
    this.#count(held, body, -body.bytes);
    if (held.bodies.size === 0) this.#accounts.delete(body.account);
  }

  #count(held: Holder, body: HeldBody, bytes: number): void {
    body.bytes += bytes;
    held.bytes += bytes;
    this.#bytes += bytes;
    if (held.isStranger) this.#strangersBytes += bytes;
  }

  #refuseLargest(among: (holder: Holder) => boolean): void {
    const holders = [...this.#accounts.values()].filter(among);
    const [first] = holders.reduce((a, b) => (b.bytes > a.bytes ? b : a)).bodies;
    if (first !== undefined) this.#refuse(first);
  }

  #refuse(body: HeldBody): void {
    this.release(body);
    const message = 'Too many large bodies are being received. Nothing was done.';
    body.fail(wireError('overloaded', message));
  }
}
