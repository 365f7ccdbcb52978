// Whether an answer has a documented status and a body of the documented shape.
import type { Route } from '../protocol/route.ts';
import { type RouteName, routes } from '../protocol/routes.ts';

/** The part of a schema that answers are checked against. The bundle of `svc` has no more of it: build/rolldown.config.js. */
export interface AnswerSchema {
  type?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, AnswerSchema>>;
  items?: AnswerSchema;
  anyOf?: readonly AnswerSchema[];
  pattern?: string;
}

/**
 * How an answer differs from what the route documents: its status, required members, JSON types and patterns of texts.
 * Null if it does not. Members and list values that a later service adds are accepted.
 */
export function answerMismatch(
  name: RouteName,
  { status, body }: { status: number; body: unknown },
): string | null {
  const { responses }: Route = routes[name];
  const schema = responses[status] as AnswerSchema | undefined;
  return schema === undefined ? `HTTP ${status}` : mismatchOf(schema, body, 'the answer');
}

/** What the value should be; null if it fits. `place` names the value in that sentence. */
export function mismatchOf(schema: AnswerSchema, value: unknown, place: string): string | null {
  const { type, anyOf, required = [], properties = {}, items, pattern } = schema;
  if (anyOf !== undefined) {
    const mismatches = anyOf.map((one) => mismatchOf(one, value, place));
    return mismatches.includes(null) ? null : (mismatches[0] ?? null);
  }
  if (type !== undefined && !isOfType(value, type)) return `${place} must be of type ${type}`;
  if (pattern !== undefined && !new RegExp(pattern).test(value as string)) {
    return `${place} must match ${pattern}`;
  }
  if (Array.isArray(value)) {
    return items === undefined
      ? null
      : firstMismatch(value, (item) => mismatchOf(items, item, `an item of ${place}`));
  }
  if (type !== 'object') return null;
  const members = value as Record<string, unknown>;
  const missing = required.find((name) => !Object.hasOwn(members, name));
  if (missing !== undefined) return `${place} must have ${missing}`;
  return firstMismatch(Object.entries(properties), ([name, member]) =>
    Object.hasOwn(members, name) ? mismatchOf(member, members[name], name) : null,
  );
}

function firstMismatch<Item>(all: readonly Item[], look: (item: Item) => string | null) {
  for (const item of all) {
    const mismatch = look(item);
    if (mismatch !== null) return mismatch;
  }
  return null;
}

/** `type` is a name of JSON Schema. */
function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  // JavaScript has the same names for the other types.
  const own: string = typeof value;
  return own === type;
}
