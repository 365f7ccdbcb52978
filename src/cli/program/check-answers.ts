import { SvcError } from '../../base/svc-error.ts';
import type { Client } from '../../client/client.ts';
import type { Route } from '../../protocol/route.ts';
import { routes } from '../../protocol/routes.ts';

/** As much of a schema as an answer is held against; the bundle keeps no more: build/rolldown.config.js. */
export interface AnswerSchema {
  type?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, AnswerSchema>>;
  items?: AnswerSchema;
  anyOf?: readonly AnswerSchema[];
  pattern?: string;
}

/**
 * The client, with answers held to the shape that the routes table promises: members that must be there,
 * their JSON types, the forms of texts. What a later service may add, members and words of a list, is no fault.
 * Rejects with `unexpected_answer`.
 */
export function withCheckedAnswers(client: Client, baseUrl: string): Client {
  return {
    async call(name, ...input) {
      const answer = await client.call(name, ...input);
      const { method, path, responses }: Route = routes[name];
      const status = Number(answer.status);
      const schema = responses[status] as AnswerSchema | undefined;
      const fault =
        schema === undefined
          ? `not with HTTP ${status}`
          : faultOf(schema, answer.body, 'the answer');
      if (fault === null) return answer;
      throw new SvcError(
        'unexpected_answer',
        `${baseUrl} answered ${method} ${path} otherwise than a service does: ${fault}.`,
        { hint: 'svc config list shows the addresses in use; svc doctor compares the versions.' },
      );
    },
  };
}

/** What the value should be, and where; null where it fits. `place` is where the value stands. */
function faultOf(schema: AnswerSchema, value: unknown, place: string): string | null {
  const { type, anyOf, required = [], properties = {}, items, pattern } = schema;
  if (anyOf !== undefined) {
    const faults = anyOf.map((one) => faultOf(one, value, place));
    return faults.includes(null) ? null : (faults[0] ?? null);
  }
  if (type !== undefined && !isOfType(value, type)) return `${place} must be of type ${type}`;
  if (pattern !== undefined && !new RegExp(pattern).test(value as string)) {
    return `${place} must match ${pattern}`;
  }
  if (Array.isArray(value)) {
    return items === undefined
      ? null
      : firstFault(value, (item) => faultOf(items, item, `an item of ${place}`));
  }
  if (type !== 'object') return null;
  const members = value as Record<string, unknown>;
  const missing = required.find((name) => !Object.hasOwn(members, name));
  if (missing !== undefined) return `${place} must have ${missing}`;
  return firstFault(Object.entries(properties), ([name, member]) =>
    Object.hasOwn(members, name) ? faultOf(member, members[name], name) : null,
  );
}

function firstFault<Item>(all: readonly Item[], look: (item: Item) => string | null) {
  for (const item of all) {
    const fault = look(item);
    if (fault !== null) return fault;
  }
  return null;
}

/** By the names of JSON Schema. */
function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  // The others are named alike.
  const own: string = typeof value;
  return own === type;
}
