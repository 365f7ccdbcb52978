import type { FastifyRequest } from 'fastify';
import type { JsonValue } from '../../proof/json-value.ts';
import { parseStrictJson } from '../../proof/strict-json.ts';
import { StrictJsonError } from '../../proof/strict-json-error.ts';
import { decodeUtf8 } from '../../proof/utf8.ts';
import { limits } from '../../protocol/limits.ts';
import type { Route } from '../../protocol/route.ts';
import { fault } from '../core/fault.ts';
import { shorten } from './schema-fault.ts';

/** A document in the body may nest as deep as a proof; the body around it is one level more. */
const MAX_DEPTH = limits.documentDepth + 1;

/**
 * The JSON value of a body, nothing replaced and nothing dropped; undefined when the body is empty.
 * Throws `unsupported_media_type`, `invalid_json`, or, for JSON that would change silently, the code
 * of the field where the fault lies.
 */
export function parseBody(request: FastifyRequest, bytes: Buffer): JsonValue | undefined {
  requireUtf8(request.headers['content-type'] ?? '');
  if (bytes.length === 0) return undefined;
  try {
    return parseStrictJson(decodeUtf8(bytes), { maxDepth: MAX_DEPTH });
  } catch (error) {
    if (error instanceof StrictJsonError) throw bodyFault(error, request.routeOptions.config.route);
    throw error;
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
  const code = Object.hasOwn(route?.fieldErrors ?? {}, field) ? route?.fieldErrors?.[field] : null;
  if (!code) return fault('invalid_request', `${reason}, at ${quote(pointer)}.`);
  return fault(code, `${reason}, at ${quote(pointer.slice(field.length + 1))} of ${field}.`);
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
