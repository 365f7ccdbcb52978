// Turns a failed schema validation into an error that names field and limit.

import type { ErrorCode } from './errors.ts';
import { nearestName } from './nearest-name.ts';
import type { Schema } from './openapi/example.ts';
import type { Route } from './route.ts';

/** Code and message of an error response. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** An ajv error as Fastify passes it on. `parentSchema` and `data` are set because ajv runs with `verbose`. */
interface AjvError {
  keyword: string;
  instancePath: string;
  params: Record<string, unknown>;
  parentSchema?: unknown;
  data?: unknown;
}

const LONGEST_QUOTE = 200;

const partNames: Readonly<Record<string, string>> = { params: 'path', querystring: 'query' };

/**
 * The error for the first problem that Fastify found in a path, query or body: the code of its field, and a sentence.
 * Null if `thrown` is another error.
 */
export function schemaError(thrown: object, route: Route | undefined): WireError | null {
  if (!('validation' in thrown && Array.isArray(thrown.validation))) return null;
  const errors: readonly AjvError[] = thrown.validation;
  const context = 'validationContext' in thrown ? String(thrown.validationContext) : 'request';
  const part = partNames[context] ?? context;
  // A failed union reports each of its branches first and itself last. A value of the right type has a limit to name.
  const union = errors.find(({ keyword }) => keyword === 'anyOf');
  const ofType = ({ keyword }: AjvError) => /^(type|const|enum|anyOf)$/.test(keyword);
  const error = union === undefined ? errors[0] : (errors.find((one) => !ofType(one)) ?? union);
  if (error === undefined) {
    return { code: 'invalid_request', message: `The ${part} does not match its schema.` };
  }
  const path = error.instancePath.split('/').slice(1).map(unescapePointer);
  const missing = text(error.params.missingProperty);
  const unknown = unknownMember(error);
  const member = unknown ?? missing;
  const place = member === null ? path : [...path, member];
  const name = place.length === 0 ? `The ${part}` : shorten(place.join('.'));
  const field = path[0] ?? missing ?? (unknown === null ? '' : '*');
  const code = codeOf(field, route, error.keyword);
  // There is nothing with a malformed id.
  const usual = part === 'path' ? 'not_found' : 'invalid_request';
  const problem =
    unknown === null ? `${problemOf(error, missing)}.` : unknownProblem(unknown, error, part);
  return { code: code ?? usual, message: `${name} ${problem}` };
}

/** The member that the schema does not have; null if there is none. A misspelt one is also the cause of a missing one. */
function unknownMember(error: AjvError): string | null {
  const { keyword, params, parentSchema, data } = error;
  if (keyword !== 'required') return text(params.additionalProperty);
  if ((parentSchema as Schema | undefined)?.additionalProperties !== false) return null;
  const known = knownMembers(error);
  return Object.keys(Object(data)).find((name) => !known.includes(name)) ?? null;
}

function knownMembers({ parentSchema }: AjvError): string[] {
  return Object.keys((parentSchema as Schema | undefined)?.properties ?? {});
}

function unknownProblem(unknown: string, error: AjvError, part: string): string {
  const known = knownMembers(error);
  const nearest = nearestName(unknown, known);
  const isUnwrapped = error.params.missingProperty === 'proof';
  const wrap = isUnwrapped ? ' Put the evidence into the member proof.' : '';
  const hint = nearest === null ? wrap : ` Did you mean ${nearest}?`;
  if (part !== 'query') return `is not a known field.${hint}`;
  const parameters = known.length === 0 ? 'none' : known.join(', ');
  return `is not a known parameter; this endpoint takes ${parameters}.${hint}`;
}

/** The code that the route has for an invalid field, or for one with too many items. */
export function codeOf(
  field: string,
  route: Route | undefined,
  keyword?: string,
): ErrorCode | undefined {
  const tables = [keyword === 'maxItems' ? route?.countErrors : undefined, route?.fieldErrors];
  for (const codes of tables) {
    if (codes !== undefined && Object.hasOwn(codes, field)) return codes[field];
  }
  return route?.fieldErrors?.['*'];
}

/** Shortens text sent by a caller to 200 characters, for a message. Never cuts within a character. */
export function shorten(text: string): string {
  if (text.length <= LONGEST_QUOTE) return text;
  return `${text.slice(0, LONGEST_QUOTE).replace(/\p{Surrogate}$/u, '')}…`;
}

const limitTexts: Readonly<Record<string, (limit: unknown) => string>> = {
  maxLength: (limit) => `must have at most ${limit} characters`,
  maxItems: (limit) => `must have at most ${limit} items`,
  minItems: (limit) => `must have at least ${limit} item${limit === 1 ? '' : 's'}`,
  uniqueItems: () => 'must not contain duplicates',
  minProperties: () => 'must have at least one member',
  minimum: (limit) => `must be at least ${limit}`,
  maximum: (limit) => `must be at most ${limit}`,
};

function problemOf({ keyword, params, parentSchema }: AjvError, missing: string | null): string {
  const schema = (parentSchema ?? {}) as Schema; // ajv passes the schema on unchanged.
  switch (keyword) {
    case 'required': {
      const member = missing === null ? undefined : schema.properties?.[missing];
      return member === undefined ? 'is required' : `is required and must be ${kindOf(member)}`;
    }
    case 'pattern':
    case 'format':
      return schema.description === undefined
        ? 'has an invalid format'
        : `must be ${schema.description}`;
    default:
      return limitTexts[keyword]?.(params.limit) ?? `must be ${kindOf(schema)}`;
  }
}

/** The type in words, such as "a JSON object or array", or the allowed values. */
export function kindOf(schema: Schema): string {
  const options = schema.anyOf ?? [schema];
  const values = options.flatMap((one) => one.enum ?? one.const ?? []);
  if (values.length > 0) return values.join(' or ');
  const types = options.map(({ type }) => type ?? 'value');
  const words = types.map((type) => (type === 'object' ? 'JSON object' : type));
  const phrase = words.join(' or ');
  const article = phrase === 'null' ? '' : /^[aeiou]/.test(phrase) ? 'an ' : 'a ';
  return `${article}${phrase}${schema.description === undefined ? '' : ` (${schema.description})`}`;
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
