// Bounds the work that strangers cause: public verification, proof pages, and calls with an unknown key.
import type { FastifyRequest } from 'fastify';
import { type Deps, strangersQueue } from '../../core/deps.ts';
import { hashToken } from '../../core/sessions.ts';
import { MOST_CONNECTIONS } from './connections.ts';
import { bearerKey, sessionToken } from './credentials.ts';
import { sourceOf } from './sources.ts';

/** Work in progress, of one caller and in total. */
const READS = { ofOneAtOnce: 64, atOnce: 1024 };
const LOOKUPS = { ofOneAtOnce: 16, atOnce: 64 };
/** All robots behind one address may call at once when the server has restarted. */
const WAITING_LOOKUPS = { ofOne: MOST_CONNECTIONS, inAll: 2 * MOST_CONNECTIONS };

/** Credentials remembered as valid; the ones that became known first are forgotten first. */
const KNOWN = 50_000;

/** Sources take turns. Callers whose credential was valid when it was last used count by it, never by their address. */
export class StrangersWork {
  readonly #reads = strangersQueue(READS);
  readonly #lookups = strangersQueue(LOOKUPS, WAITING_LOOKUPS);
  /** Hashes. */
  readonly #known = new Set<string>();

  /** Runs a public read in the turn of its caller. Throws `overloaded`. */
  read<T>(request: FastifyRequest, read: () => Promise<T>): Promise<T> {
    const credential = bearerKey(request) ?? sessionToken(request);
    const hash = credential === null ? '' : hashToken(credential);
    return this.#reads.run(this.#known.has(hash) ? hash : sourceOf(request.ip), read);
  }

  /** Looks a credential up: at once if it is known, otherwise in the turn of the source. Throws `overloaded`. */
  async lookUp<T>({ ip }: FastifyRequest, credential: string, look: () => Promise<T>): Promise<T> {
    const hash = hashToken(credential);
    try {
      if (this.#known.has(hash)) return await look();
      const found = await this.#lookups.run(sourceOf(ip), look);
      const [oldest = ''] = this.#known.size < KNOWN ? [] : this.#known;
      this.#known.delete(oldest);
      this.#known.add(hash);
      return found;
    } catch (error) {
      this.#known.delete(hash);
      throw error;
    }
  }
}

/** The dependencies of a server's hooks and handlers. */
export interface HttpDeps extends Deps {
  strangersWork: StrangersWork;
}
