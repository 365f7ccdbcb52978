import type { FastifyRequest } from 'fastify';
import { inSteps } from '../../base/steps.ts';
import { Turns } from '../../base/turns.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { mostValuesIn, readStrictJson, type StrictJsonOptions } from '../../proof/strict-json.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../proof/utf8.ts';
import { limits } from '../../protocol/limits.ts';
import type { Route } from '../../protocol/route.ts';
import { fault } from '../core/fault.ts';
import { documentTooLarge } from '../core/tasks.ts';
import { shorten } from './schema-fault.ts';
import { whileConnected } from './while-connected.ts';

/** A document in the body may nest as deep as a proof; the body around it is one level more. */
const MAX_DEPTH = limits.documentDepth + 1;

/** The body itself and its members beside the document, and room for more, which the schema refuses. */
const VALUES_AROUND_DOCUMENT = 100;

/** A larger body takes milliseconds to read and check. Bytes. */
const LARGE = 32 * 1024;

const MIB = 1024 * 1024;

/** Large bodies that may wait, of one account and of all, in bytes. */
const LARGE_WAITING = { ofOne: 32 * MIB, inAll: 64 * MIB };

/** Reads bodies; large ones one by one, the accounts by turns, and others are served in between. */
export function createBodyParser(): (request: FastifyRequest, bytes: Buffer) => Promise<unknown> {
  const turns = new Turns({
    atOnce: 1,
    waiting: LARGE_WAITING,
    refusal: () => fault('overloaded', 'Too many large bodies wait already; nothing was done.'),
  });
  return async (request, bytes) => {
    if (bytes.length <= LARGE) return parseBody(request, bytes);
    // Whoever went takes no room from those who wait.
    const end = await whileConnected(request, (signal) =>
      turns.take(accountOf(request), { size: bytes.length, signal }),
    );
    const startedAt = performance.now();
    try {
      return await parseBody(request, bytes);
    } finally {
      // What follows the reading, up to the first wait, belongs to the turn; then others get twice as long.
      setImmediate(() => setTimeout(end, 2 * (performance.now() - startedAt)));
    }
  };
}

function accountOf({ caller }: FastifyRequest): string {
  return caller && 'wallet' in caller ? caller.wallet : '';
}

/**
 * The JSON value of a body, nothing replaced and nothing dropped; undefined when the body is empty.
 * Throws `unsupported_media_type`, `invalid_json`, or, for JSON that would change silently, the code
 * of the field where the fault lies.
 */
async function parseBody(request: FastifyRequest, bytes: Buffer): Promise<JsonValue | undefined> {
  requireUtf8(request.headers['content-type'] ?? '');
  if (bytes.length === 0) return undefined;
  const { route } = request.routeOptions.config;
  try {
    return await inSteps(readStrictJson(decodeUtf8(bytes), parseLimits(route)));
  } catch (error) {
    if (error instanceof StrictJsonError) throw bodyFault(error, route);
    throw error;
  }
}

/** Without a document the size of the body is bound enough. */
function parseLimits(route: Route | undefined): StrictJsonOptions {
  const { document, maxValues } = route ?? {};
  if (maxValues !== undefined) return { maxDepth: MAX_DEPTH, maxValues };
  if (document === undefined) return { maxDepth: MAX_DEPTH };
  const around = VALUES_AROUND_DOCUMENT;
  return { maxDepth: MAX_DEPTH, maxValues: mostValuesIn(document.maxBytes) + around };
}

/** Nothing is unpacked here; bytes that are packed would only look like broken JSON. */
export async function requireIdentity({ headers }: FastifyRequest): Promise<void> {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && !/^ *identity *$/i.test(encoding)) {
    throw fault('unsupported_media_type', 'The body must not have a Content-Encoding.');
  }
}

/** Routes with a body need one; the others take none, or an empty object. */
export async function requireBody(request: FastifyRequest): Promise<void> {
  const { body } = request;
  const absent = body === undefined;
  if (request.routeOptions.config.route?.body) {
    if (absent) throw fault('invalid_json', 'The body is empty; a JSON object is needed.');
  } else if (!absent && !isEmptyObject(body)) {
    throw fault('invalid_request', 'This endpoint takes no body, or an empty JSON object.');
  }
}

function requireUtf8(contentType: string): void {
  for (const parameter of contentType.split(';').slice(1)) {
    const [name = '', value = ''] = parameter.split('=', 2);
    if (name.trim().toLowerCase() !== 'charset') continue;
    if (!/^"?utf-8"?$/i.test(value.trim())) {
      throw fault('unsupported_media_type', 'The body must be application/json in UTF-8.');
    }
  }
}

function bodyFault({ kind, pointer, reason }: StrictJsonError, route: Route | undefined) {
  if (kind === 'syntax') return fault('invalid_json', `${reason}.`);
  const field = pointer.split('/', 2)[1] ?? '';
  if (kind === 'size') {
    const { document } = route ?? {};
    if (field === document?.field) return documentTooLarge(field, document.maxBytes);
    return fault('payload_too_large', 'The body holds more JSON values than are taken here.');
  }
  const code = Object.hasOwn(route?.fieldErrors ?? {}, field) ? route?.fieldErrors?.[field] : null;
  if (!code) return fault('invalid_request', `${reason}, at ${quote(pointer)}.`);
  const inside = pointer.slice(field.length + 1);
  if (inside !== '') return fault(code, `${reason}, at ${quote(inside)} of ${field}.`);
  // A number may become a string only within a document.
  const problem = route?.document?.field === field ? reason : reason.split(':', 1)[0];
  return fault(code, `${problem}, in ${field}.`);
}

function quote(pointer: string): string {
  return JSON.stringify(shorten(pointer));
}

function isEmptyObject(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).length === 0
  );
}
