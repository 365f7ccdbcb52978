// Bounds the work that strangers cause: public routes, proof pages, and calls with an unknown key.
import type { FastifyRequest } from 'fastify';
import type { FairQueue } from '../../../base/fair-queue.ts';
import { SvcError } from '../../../base/svc-error.ts';
import { type Deps, strangersQueue } from '../../core/deps.ts';
import { authenticateRobot } from '../../core/robots.ts';
import { hashToken } from '../../core/sessions.ts';
import { wireError } from '../../ports/errors.ts';
import { MOST_CONNECTIONS, sourceOf } from './connections.ts';
import { bearerKey, sessionToken } from './credentials.ts';
import { abortOnDisconnect } from './in-flight.ts';

/** Work in progress, of one caller and in total. */
const PUBLIC = { ofOneAtOnce: 64, atOnce: 1024 };
const LOOKUPS = { ofOneAtOnce: 16, atOnce: 64 };
/** All robots behind one address may call at once when the server has restarted. */
const WAITING_LOOKUPS = { ofOne: MOST_CONNECTIONS, inAll: 2 * MOST_CONNECTIONS };

/** Credentials remembered as valid; the ones that became known first are forgotten first. */
const KNOWN = 50_000;

/** Errors of a credential that has ended. */
const endings: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'invalid_session',
  'invalid_token',
]);

/** Sources take turns. Callers whose credential was valid when it was last used count by their account, never by their address. */
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
