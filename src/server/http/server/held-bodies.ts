// Bounds the memory of request bodies that are arriving or waiting to be parsed.
import { wireError } from '../../ports/errors.ts';

const MIB = 1024 * 1024;

/** Maximum size of all bodies in memory, per account and in total, in bytes. */
const HELD = { ofOne: 32 * MIB, inAll: 128 * MIB };

/** What a chunk takes beside its bytes: a body may arrive byte by byte. */
const CHUNK_BYTES = 256;

export interface HeldBody {
  readonly account: string;
  /** Ends the request with the error. Called at most once, if another account needs the memory. */
  fail: (error: Error) => void;
  bytes: number;
}

/**
 * The bodies in memory. Only bytes that arrived count: what a caller announces costs nothing. Above the total, bodies of
 * the account that holds the most are refused, so that no account can keep another from being heard.
 */
export class HeldBodies {
  readonly #accounts = new Map<string, { bytes: number; bodies: Set<HeldBody> }>();
  #bytes = 0;

  /** Counts a body. It stays counted until `release` or `fail`. */
  hold(account: string, fail: HeldBody['fail']): HeldBody {
    const body = { account, fail, bytes: 0 };
    const held = this.#accounts.get(account) ?? { bytes: 0, bodies: new Set() };
    held.bodies.add(body);
    this.#accounts.set(account, held);
    return body;
  }

  /** Counts bytes that arrived. Does nothing once the body was released. */
  grow(body: HeldBody, bytes: number): void {
    const held = this.#accounts.get(body.account);
    if (!held?.bodies.has(body)) return;
    body.bytes += bytes + CHUNK_BYTES;
    held.bytes += bytes + CHUNK_BYTES;
    this.#bytes += bytes + CHUNK_BYTES;
    if (held.bytes > HELD.ofOne) this.#refuse(body);
    while (this.#bytes > HELD.inAll) {
      const accounts = [...this.#accounts.values()];
      const [largest] = accounts.reduce((a, b) => (b.bytes > a.bytes ? b : a)).bodies;
      if (largest === undefined) break;
      this.#refuse(largest);
    }
  }

  release(body: HeldBody): void {
    const held = this.#accounts.get(body.account);
    if (!held?.bodies.delete(body)) return;
    held.bytes -= body.bytes;
    this.#bytes -= body.bytes;
    if (held.bodies.size === 0) this.#accounts.delete(body.account);
  }

  #refuse(body: HeldBody): void {
    this.release(body);
    const message = 'Too many large bodies are being received. Nothing was done.';
    body.fail(wireError('overloaded', message));
  }
}
