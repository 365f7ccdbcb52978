// Schemas of single fields: ids, hashes, timestamps, texts.
import { type TSchema, Type } from 'typebox';

/** The schema of a JSON object without unknown members. */
export function Closed<Fields extends Record<string, TSchema>>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}

/** A closed object with at least one member. */
export function Patch<Fields extends Record<string, TSchema>>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false, minProperties: 1 });
}

/**
 * Removes null members from a POST body if the schema has them as optional and not as nullable: clients send back what
 * they read. Also looks into arrays of objects.
 */
export function dropAbsent(schema: TSchema, value: unknown): void {
  if (Array.isArray(value)) {
    if (Type.IsArray(schema)) for (const item of value) dropAbsent(schema.items, item);
    return;
  }
  if (!Type.IsObject(schema) || typeof value !== 'object' || value === null) return;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    // Null too has the type `object`.
    if (typeof members[name] !== 'object' || !Object.hasOwn(schema.properties, name)) continue;
    const member = schema.properties[name] as TSchema;
    const mayBeNull = Type.IsUnion(member) && member.anyOf.some((one) => Type.IsNull(one));
    if (members[name] !== null) dropAbsent(member, members[name]);
    else if (!mayBeNull && !schema.required?.includes(name)) delete members[name];
  }
}

/** One of these texts. */
export function OneOf<Value extends string>(values: readonly Value[], description?: string) {
  const described = description === undefined ? {} : { description };
  return Type.Unsafe<Value>({ type: 'string', enum: values, ...described });
}

export function Nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

/** Accepted in upper case too; a server lowers it while it validates a request (`ajvOptions`). */
export const Uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  description: 'a UUID',
  'x-lowercase': true,
  examples: ['01a1fa88-6262-702f-af77-0aaec0d1b17b'],
});

export const Hash = Type.String({
  pattern: '^0x[0-9a-f]{64}$',
  description: '32 bytes as lowercase hex with the prefix 0x',
  examples: ['0x219f9568571e27344d43d9f29d2887bb000edfa6879f4e2a4ca3f723a9ee5b68'],
});

export const Address = Type.String({
  pattern: '^0x[0-9a-fA-F]{40}$',
  description: 'an EVM address (0x and 40 hex digits)',
  examples: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
});

/** A timestamp in a response: UTC with milliseconds. */
export const Timestamp = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
  description: 'a UTC time in ISO 8601 with milliseconds',
  examples: ['2026-11-20T19:56:45.000Z'],
});

/** A timestamp in a request. The format `iso-8601` is `parseTimestamp`. */
export const CallerTimestamp = Type.String({
  format: 'iso-8601',
  maxLength: 64,
  description: 'an ISO 8601 date, or date and time (UTC if it has no offset)',
  examples: ['2026-11-20T20:56:45+01:00'],
});

/** A non-negative integer too large for a double, such as a block number or an amount in wei. */
export const Decimal = Type.String({
  pattern: '^(0|[1-9]\\d*)$',
  description: 'a decimal integer',
  examples: ['1204'],
});

export const Url = Type.String({ format: 'uri', examples: ['https://explorer.example.org'] });

/** Text without U+0000. Lengths are code points. */
export function Text(maxLength: number, description = 'text without U+0000') {
  return Type.String({ maxLength, pattern: '^[^\\u0000]*$', description });
}

/** Text without U+0000 that has at least one character that is not white space. */
export function VisibleText(maxLength: number) {
  return Type.String({
    maxLength,
    pattern: '^(?=[\\s\\S]*\\S)[^\\u0000]*$',
    description: 'text that is not blank and has no U+0000',
  });
}

/** Any JSON object. Its byte limit applies to the canonical form. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());
/** An object that is stored and not hashed. */
export const RoundedObject = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'a number that no IEEE 754 double holds is rounded to the nearest one, so integers above 2^53, such as times in nanoseconds, lose digits; send them as strings to keep all digits',
});
