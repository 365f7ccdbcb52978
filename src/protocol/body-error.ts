// The error for a request body that cannot be parsed.

import type { Route } from './route.ts';
import { codeOf, shorten, type WireError } from './schema-error.ts';

/** Why a body could not be read, in the terms of `StrictJsonError` in `src/proof`. */
export interface BodyProblem {
  readonly kind: 'syntax' | 'fault' | 'size';
  readonly pointer: string;
  readonly reason: string;
}

/**
 * The error for a body that is not JSON, or that JSON parsing would change silently. Its code is that of the field that
 * contains the problem.
 */
export function bodyError(
  { kind, pointer, reason }: BodyProblem,
  route: Route | undefined,
): WireError {
  if (kind === 'syntax') return { code: 'invalid_json', message: `${reason}.` };
  const field = pointer.split('/', 2)[1] ?? '';
  if (kind === 'size') {
    const { document, maxValues } = route ?? {};
    if (field === document?.field) return tooLarge(field, document.maxBytes);
    const message =
      maxValues === undefined
        ? 'The body has too many JSON values.'
        : `The body must have at most ${maxValues} JSON values.`;
    return { code: 'payload_too_large', message };
  }
  const code = codeOf(field, route);
  if (code === undefined) {
    return { code: 'invalid_request', message: `${reason}, at ${quote(pointer)}.` };
  }
  const inside = pointer.slice(field.length + 1);
  if (inside !== '') return { code, message: `${reason}, at ${quote(inside)} of ${field}.` };
  // A number may become a string only within a document.
  const problem = route?.document?.field === field ? reason : reason.split(':', 1)[0];
  return { code, message: `${problem}, in ${field}.` };
}

/** The error for a document of more than `maxBytes` of UTF-8 in canonical form. */
export function tooLarge(field: string, maxBytes: number): WireError {
  const message = `${field} must have at most ${maxBytes} bytes in canonical form (RFC 8785).`;
  return { code: 'payload_too_large', message };
}

function quote(pointer: string): string {
  return JSON.stringify(shorten(pointer));
}
