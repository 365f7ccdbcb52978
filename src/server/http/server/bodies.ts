// Reads request bodies within their limits.
import type { FastifyRequest } from 'fastify';
import { atOnce, runYielding } from '../../../base/cooperative-yield.ts';
import { FairQueue } from '../../../base/fair-queue.ts';
import type { JsonValue } from '../../../proof/json-value.ts';
import {
  mostValuesIn,
  readStrictJson,
  type StrictJsonOptions,
} from '../../../proof/strict-json.ts';
import { StrictJsonError } from '../../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../../proof/utf8.ts';
import { bodyError } from '../../../protocol/body-error.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Route } from '../../../protocol/route.ts';
import { wireError } from '../../ports/errors.ts';
import { abortOnDisconnect } from './in-flight.ts';

/** A document in the body may nest as deep as a proof; the surrounding body adds one level. */
const MAX_DEPTH = limits.documentDepth + 1;

/** The body, its members other than the document, and room for more, which the schema then rejects. */
const VALUES_AROUND_DOCUMENT = 100;

/** Bytes above which a body is large: it takes milliseconds to parse and validate. */
const LARGE = 32 * 1024;

const MIB = 1024 * 1024;

/** Maximum size of large bodies waiting to be parsed, per account and in total, in bytes. */
const LARGE_WAITING = { ofOne: 32 * MIB, inAll: 64 * MIB };

/**
 * Parses bodies. Large ones are parsed one at a time, with the accounts in turn, and with pauses for other requests.
 * Small ones are parsed at once, without a promise.
 */
export function createBodyParser(): (
  request: FastifyRequest,
  bytes: Buffer,
  done: (error: Error | null, body?: unknown) => void,
) => void {
  const queue = new FairQueue({
    atOnce: 1,
    waiting: LARGE_WAITING,
    refusal: () => wireError('overloaded', 'Too many large bodies are waiting. Nothing was done.'),
  });

  async function parseLarge(request: FastifyRequest, bytes: Buffer): Promise<unknown> {
    // A disconnected caller must not occupy space in the queue.
    const disconnected = new AbortController();
    const abort = () =>
      disconnected.abort(wireError('invalid_request', 'The connection was closed.'));
    const end = await abortOnDisconnect(request.raw.socket, abort, () =>
      queue.take(accountOf(request), { size: bytes.length, signal: disconnected.signal }),
    );
    const startedAt = performance.now();
    try {
      return await runYielding(readBody(request, bytes));
    } finally {
      // The turn also covers the synchronous work after parsing. Then other requests get twice as long.
      setImmediate(() => setTimeout(end, 2 * (performance.now() - startedAt)));
    }
  }

  return (request, bytes, done) => {
    if (bytes.length > LARGE) {
      parseLarge(request, bytes).then((body) => done(null, body), done);
      return;
    }
    let body: JsonValue | undefined;
    try {
      body = atOnce(readBody(request, bytes));
    } catch (error) {
      done(error as Error); // Only Errors are thrown.
      return;
    }
    done(null, body);
  };
}

/** Rejects compressed bodies: they are not decompressed, and would look like broken JSON. */
export function requireIdentity({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && !/^ *identity *$/i.test(encoding)) {
    throw wireError('unsupported_media_type', 'The body must not have a Content-Encoding.');
  }
}

/** Requires a body on routes that have one; the others accept none, or an empty object. */
export function requireBody(request: FastifyRequest): void {
  const { body } = request;
  const absent = body === undefined;
  if (request.routeOptions.config.route?.body) {
    if (absent) throw wireError('invalid_json', 'The body is empty. Send a JSON object.');
  } else if (!absent && !isEmptyObject(body)) {
    throw wireError('invalid_request', 'This endpoint accepts no body, or an empty JSON object.');
  }
}

/** Maximum size of large bodies being received, per account and in total, in bytes. */
const ARRIVING = { ofOne: 32 * MIB, inAll: 256 * MIB };

/**
 * Refuses a large body before reading any of it, if too much is being received already. A partly received body stays in
 * memory, and a slow sender can delay the rest up to the time-out.
 */
export function createBodyBudget(): (request: FastifyRequest) => void {
  const arriving = new Map<string, number>();
  let inAll = 0;

  function add(account: string, bytes: number): void {
    const ofOne = (arriving.get(account) ?? 0) + bytes;
    if (ofOne === 0) arriving.delete(account);
    else arriving.set(account, ofOne);
    inAll += bytes;
  }

  return (request) => {
    const bytes = mostBytes(request);
    if (bytes <= LARGE) return;
    const account = accountOf(request);
    if ((arriving.get(account) ?? 0) + bytes > ARRIVING.ofOne || inAll + bytes > ARRIVING.inAll) {
      throw wireError('overloaded', 'Too many large bodies are being received. Nothing was done.');
    }
    add(account, bytes);
    let isArriving = true;
    const release = () => {
      if (isArriving) add(account, -bytes);
      isArriving = false;
    };
    request.raw.once('end', release);
    // If the connection closes before the end of the body.
    request.raw.once('close', release);
  };
}

/** The account of the caller; empty if there is none. */
function accountOf({ caller }: FastifyRequest): string {
  return caller && 'wallet' in caller ? caller.wallet : '';
}

/**
 * Parses a body as JSON; no value is replaced or dropped. Undefined if the body is empty. Throws
 * `unsupported_media_type`, `invalid_json`, or, for JSON that parsing would change silently, the error code of the
 * field with the problem.
 */
function* readBody(
  request: FastifyRequest,
  bytes: Buffer,
): Generator<unknown, JsonValue | undefined> {
  requireUtf8(request.headers['content-type'] ?? '');
  if (bytes.length === 0) return undefined;
  const { route } = request.routeOptions.config;
  try {
    return yield* readStrictJson(decodeUtf8(bytes), parseLimits(route));
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error;
    const { code, message } = bodyError(error, route);
    throw wireError(code, message);
  }
}

/** Without a document, the size limit of the body bounds the number of values well enough. */
function parseLimits(route: Route | undefined): StrictJsonOptions {
  const { document, maxValues } = route ?? {};
  if (maxValues !== undefined) return { maxDepth: MAX_DEPTH, maxValues };
  if (document === undefined) return { maxDepth: MAX_DEPTH };
  const around = VALUES_AROUND_DOCUMENT;
  return { maxDepth: MAX_DEPTH, maxValues: mostValuesIn(document.maxBytes) + around };
}

function requireUtf8(contentType: string): void {
  for (const parameter of contentType.split(';').slice(1)) {
    const [name = '', value = ''] = parameter.split('=', 2);
    if (name.trim().toLowerCase() !== 'charset') continue;
    if (!/^"?utf-8"?$/i.test(value.trim())) {
      throw wireError('unsupported_media_type', 'The body must be application/json in UTF-8.');
    }
  }
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 0
  );
}

/** The maximum number of bytes that are read of a body. Without an announced length that is the limit of its route. */
function mostBytes({ headers, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  const announced = Number(headers['content-length'] ?? 0);
  return announced > bodyLimit ? 0 : announced;
}
