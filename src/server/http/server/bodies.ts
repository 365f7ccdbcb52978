// Reads request bodies within their limits, and bounds the memory that they hold.
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { runYielding } from '../../../base/async/cooperative-yield.ts';
import { FairQueue } from '../../../base/async/fair-queue.ts';
import type { JsonValue } from '../../../proof/json-value.ts';
import { runSteps } from '../../../proof/run-steps.ts';
import {
  mostValuesIn,
  readStrictJson,
  type StrictJsonOptions,
} from '../../../proof/strict-json.ts';
import { StrictJsonError } from '../../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../../proof/utf8.ts';
import { bodyError } from '../../../protocol/body-error.ts';
import { dropAbsent } from '../../../protocol/fields.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Route } from '../../../protocol/route.ts';
import { type Deps, recording } from '../../core/deps.ts';
import { wireError } from '../../ports/errors.ts';
import { accountOf, walletOf } from './authentication.ts';
import { abortOnDisconnect } from './in-flight.ts';

/** The body, its members other than the document, and room for more, which the schema then rejects. */
const VALUES_AROUND_DOCUMENT = 100;

/** Undefined if the body is empty, or invalid (`FastifyRequest.invalidBody`). */
type ReadBody = JsonValue | undefined;

/** Bytes above which a body is large: it takes milliseconds to parse and validate. */
const LARGE = 32 * 1024;

/** Key of the turn that all callers without an account share. No account or source has this name. */
const STRANGERS = 'strangers';

/**
 * Reads and parses bodies. Large ones are parsed one at a time, with the accounts in turn, and with pauses for other
 * requests. Small ones are parsed at once, without a promise.
 */
export function createBodyParser(): (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
) => void {
  const held = new HeldBodies();
  const queue = new FairQueue({ atOnce: 1 });

  async function parseLarge(request: FastifyRequest, bytes: Buffer, body: HeldBody) {
    const waiting = new AbortController();
    body.fail = (error) => waiting.abort(error);
    const disconnect = () => body.fail(closed());
    try {
      const key = body.isStranger ? STRANGERS : body.account;
      const take = () => queue.take(key, { signal: waiting.signal });
      const end = await abortOnDisconnect(request.raw.socket, disconnect, take);
      const startedAt = performance.now();
      try {
        return await runYielding(readJson(request, bytes));
      } finally {
        // The turn also covers the synchronous work after parsing. Then other requests get twice as long.
        setImmediate(() => setTimeout(end, 2 * (performance.now() - startedAt)));
      }
    } finally {
      held.release(body);
    }
  }

  return (request, _payload, done) => {
    const { raw } = request;
    const { bodyLimit, config } = request.routeOptions;
    const announced = Number(request.headers['content-length'] ?? 0);
    const chunks: Buffer[] = [];
    let size = 0;
    /** A small body that arrives in one piece is parsed in the same turn, so it is not counted. */
    let body: HeldBody | undefined;
    const fail = (error: Error | null) => {
      raw.off('data', onData).off('end', onEnd).off('close', onClose);
      if (body) held.release(body);
      // The response can only be read once the caller has stopped sending.
      raw.resume();
      done(error);
    };
    const refuseSize = () => {
      const refusal = tooLarge(bodyLimit);
      if (config.route?.lateValidation) request.invalidBody = refusal;
      fail(config.route?.lateValidation ? null : refusal);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > bodyLimit) refuseSize();
      else if (chunk.length !== announced || size > LARGE) {
        body ??= held.hold(accountOf(request), walletOf(request) === undefined, fail);
        held.grow(body, chunk.length);
      }
    };
    const onClose = () => fail(closed());
    const onEnd = () => {
      raw.off('close', onClose);
      const bytes = Buffer.concat(chunks.splice(0), size);
      if (body && size > LARGE) {
        parseLarge(request, bytes, body).then((value) => done(null, value), done);
        return;
      }
      if (body) held.release(body);
      let value: ReadBody;
      try {
        value = runSteps(readJson(request, bytes));
      } catch (error) {
        done(error as Error); // Only Errors are thrown.
        return;
      }
      done(null, value);
    };
    // Closed while its caller was looked up: no event follows.
    if (raw.destroyed) fail(closed());
    else if (announced > bodyLimit) refuseSize();
    else raw.on('data', onData).on('end', onEnd).on('close', onClose);
  };
}

/**
 * Reads a body of another type than JSON: only an empty one, which clients send with any type. Others are refused by
 * `requireBody`: after an error of its own, Fastify would close the connection.
 */
export function readNoBody(
  request: FastifyRequest,
  _payload: IncomingMessage,
  done: (error: Error | null) => void,
): void {
  const { raw, headers } = request;
  const end = (error: Error | null) => {
    raw.off('data', onData).off('end', onEnd).off('close', onClose);
    done(error);
  };
  const refuse = () => {
    request.invalidBody = wireError('unsupported_media_type', NOT_JSON);
    end(null);
  };
  const onData = () => {
    refuse();
    raw.resume();
  };
  const onEnd = () => end(null);
  const onClose = () => end(closed());
  if (raw.destroyed) onClose();
  // Nothing is read: Node.js discards the body after the response.
  else if (Number(headers['content-length'] ?? 0) > 0) refuse();
  else raw.on('data', onData).on('end', onEnd).on('close', onClose);
}

const NOT_JSON = 'The body must be application/json in UTF-8.';

const closed = () => wireError('invalid_request', 'The body ended before it was complete.');

const tooLarge = (bytes: number) =>
  wireError('payload_too_large', `The body must have at most ${bytes} bytes.`);

/** Rejects compressed bodies: they are not decompressed, and would look like broken JSON. */
export function requireIdentity({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && !/^ *identity *$/i.test(encoding)) {
    throw wireError('unsupported_media_type', 'The body must not have a Content-Encoding.');
  }
}

/**
 * Refuses a large body before it is read if its account has no room at all. What it needs is known after parsing.
 * Only for routes whose body is stored; completions are never refused. Rejects as `storing`; null if there is nothing
 * to wait for.
 */
export function requireRoom(deps: Deps, request: FastifyRequest): Promise<void> | null {
  const size = Number(request.headers['content-length'] ?? 0);
  if (size <= LARGE) return null;
  const { bodyLimit, config } = request.routeOptions;
  if (size > bodyLimit || !config.route?.errors?.includes('storage_quota')) return null;
  const wallet = walletOf(request);
  return wallet === undefined ? null : recording(deps, wallet, async () => {});
}

/** Requires a body on routes that have one; the others accept none, or an empty object. */
export function requireBody(request: FastifyRequest, reply: FastifyReply): void {
  const { body, invalidBody } = request;
  if (invalidBody !== null) {
    if (invalidBody.code === 'unsupported_media_type') throw invalidBody;
    // The caller may send much more of a body that is too large.
    if (!request.raw.complete) reply.header('connection', 'close');
    return;
  }
  const { route } = request.routeOptions.config;
  const absent = body === undefined;
  if (route?.body) {
    if (route.method === 'POST') dropAbsent(route.body, body);
    if (absent) throw wireError('invalid_json', 'The body is empty. Send a JSON object.');
  } else if (!absent && JSON.stringify(body) !== '{}') {
    throw wireError('invalid_request', 'This endpoint accepts no body, or an empty JSON object.');
  }
}

/**
 * Parses a body as JSON; no value is replaced or dropped. Undefined if the body is empty. Throws
 * `unsupported_media_type`, `invalid_json`, or, for JSON that parsing would change silently, the error code of the
 * field with the problem. On a route with `lateValidation` the latter becomes the request's `invalidBody`, and so does
 * `payload_too_large`.
 */
function* readJson(request: FastifyRequest, bytes: Buffer): Generator<unknown, ReadBody> {
  requireUtf8(request.headers['content-type'] ?? '');
  if (bytes.length === 0) return undefined;
  const { route } = request.routeOptions.config;
  try {
    return yield* readStrictJson(decodeUtf8(bytes), parseLimits(route));
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const { code, message } = bodyError(error, route);
    const refusal = wireError(code, message);
    if (!route?.lateValidation || error.kind === 'syntax') throw refusal;
    request.invalidBody = refusal;
    return undefined;
  }
}

/** Without a document, the size limit of the body bounds the number of values well enough. */
function parseLimits(route: Route | undefined): StrictJsonOptions {
  const { document } = route ?? {};
  const ofDocument = document && mostValuesIn(document.maxBytes) + VALUES_AROUND_DOCUMENT;
  const maxValues = route?.maxValues ?? ofDocument;
  return {
    // A document in the body may nest as deep as a proof.
    maxDepth: limits.documentDepth + (route?.documentLevels ?? 1),
    ...(maxValues !== undefined && { maxValues }),
    ...(route?.roundsNumbers && { numbers: 'round' }),
  };
}

function requireUtf8(contentType: string): void {
  for (const parameter of contentType.split(';').slice(1)) {
    const [name = '', value = ''] = parameter.split('=', 2);
    if (name.trim().toLowerCase() !== 'charset') continue;
    if (!/^"?utf-8"?$/i.test(value.trim())) {
      throw wireError('unsupported_media_type', NOT_JSON);
    }
  }
}

const MIB = 1024 * 1024;

/** Maximum size of bodies in memory, in bytes: of one account, of all callers without an account, and in total. */
const HELD = { ofOne: 32 * MIB, ofStrangers: 32 * MIB, inAll: 128 * MIB };

/** What a chunk takes beside its bytes: a body may arrive byte by byte. */
const CHUNK_BYTES = 256;

interface HeldBody {
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
