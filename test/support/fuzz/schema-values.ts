import fc, { type Arbitrary } from 'fast-check';

/** As much of JSON Schema as the document uses, references resolved. */
export interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

/** Values for a member of this name that the service may know; null where it knows none. */
export type Named = (name: string) => Arbitrary<string> | null;

/** Stands for the instant so many minutes ago when the request is sent. */
const recent = fc.nat(20_000).map((minutes) => `{{minutesAgo:${minutes}}}`);

const timestamps = fc.oneof(
  { weight: 4, arbitrary: recent },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '2026-01-15T12:00:00+01:00',
      '2024-02-29T23:59:59.999Z',
      '2026-01-15T12:00:00',
      '2026-01-15',
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59Z',
    ),
  },
);

/** Values that the schema takes. */
export function valid(schema: Schema, named: Named, name = ''): Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((branch) => valid(branch, named, name)));
  }
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined ? documents : validObject(schema, named);
    case 'array':
      return fc.array(valid(schema.items ?? {}, named, name), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 4, 4),
      });
    case 'integer':
      return numbersWithin(schema, (bounds) => fc.maxSafeInteger().filter(within(bounds)));
    case 'number':
      return numbersWithin(schema, ({ minimum = -1e6, maximum = 1e6 }) =>
        fc.double({ min: minimum, max: maximum, noNaN: true }),
      );
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'string':
      return validText(schema, named(name));
    default:
      return fc.jsonValue();
  }
}

const documents = fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue({ maxDepth: 3 }), {
  maxKeys: 5,
});

function validObject({ properties = {}, required = [] }: Schema, named: Named) {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [name, valid(member, named, name)]),
  );
  const some = fc.record(members, { requiredKeys: required });
  const least = fc
    .constantFrom(...Object.keys(members))
    .chain((name) =>
      fc.record(Object.fromEntries([...required, name].map((key) => [key, members[key] ?? some]))),
    );
  return fc.oneof(some, least);
}

function numbersWithin(schema: Schema, all: (bounds: Schema) => Arbitrary<number>) {
  const bounds = [schema.minimum, schema.maximum].filter((bound) => bound !== undefined);
  return fc.oneof(all(schema), ...bounds.map((bound) => fc.constant(bound)));
}

function within({ minimum = -Infinity, maximum = Infinity }: Schema) {
  return (value: number) => value >= minimum && value <= maximum;
}

function validText(schema: Schema, known: Arbitrary<string> | null): Arbitrary<string> {
  if (schema.format === 'iso-8601') return timestamps;
  const made = madeText(schema);
  if (known === null) return made;
  return fc.oneof({ weight: 4, arbitrary: known }, { weight: 1, arbitrary: made });
}

function madeText({ pattern, maxLength }: Schema): Arbitrary<string> {
  const form = new RegExp(pattern ?? '', 'u');
  // The patterns of free text mention U+0000; the others consist of ASCII.
  if (pattern !== undefined && !pattern.includes('u0000')) return fc.stringMatching(form);
  const longest = maxLength ?? 50;
  return fc
    .oneof(
      { weight: 4, arbitrary: fc.string({ maxLength: Math.min(longest, 20) }) },
      { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: Math.min(longest, 60) }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('a', 'é', '字', '🤖').map((one) => one.repeat(longest)),
      },
    )
    .filter((text) => form.test(text));
}

/** Values beside the schema in one place: a limit passed, a form missed, another type, a member too many or too few. */
export function broken(schema: Schema, named: Named, name = ''): Arbitrary<unknown> {
  return fc.oneof(
    { weight: 3, arbitrary: brokenWithin(schema, named, name) },
    { weight: 1, arbitrary: oddValues },
  );
}

function brokenWithin(schema: Schema, named: Named, name: string): Arbitrary<unknown> {
  const [branch] = schema.anyOf ?? [];
  if (branch !== undefined) return broken(branch, named, name);
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined ? oddValues : brokenObject(schema, named);
    case 'array':
      return brokenArray(schema, named, name);
    case 'integer':
    case 'number': {
      const { minimum = 0, maximum = 100 } = schema;
      return fc.constantFrom(minimum - 1, maximum + 1, minimum - 1e-9, maximum + 0.5, 0.5);
    }
    default:
      return fc.oneof(
        fc.constantFrom('a', '🤖').map((one) => one.repeat((schema.maxLength ?? 200) + 1)),
        oddTexts,
      );
  }
}

function brokenObject(schema: Schema, named: Named): Arbitrary<unknown> {
  const { properties = {} } = schema;
  const whole = valid(schema, named) as Arbitrary<Record<string, unknown>>; // An object's schema makes objects.
  const name = fc.constantFrom(...Object.keys(properties));
  return fc.oneof(
    {
      weight: 4,
      arbitrary: name.chain((key) =>
        fc
          .tuple(whole, broken(properties[key] ?? {}, named, key))
          .map(([object, value]) => ({ ...object, [key]: value })),
      ),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(whole, fc.constantFrom(...(schema.required ?? [''])))
        .map(([object, key]) =>
          Object.fromEntries(Object.entries(object).filter(([k]) => k !== key)),
        ),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          whole,
          fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', '')),
          oddValues,
        )
        .map(([object, key, value]) =>
          Object.fromEntries([...Object.entries(object), [key, value]]),
        ),
    },
  );
}

function brokenArray({ items = {}, maxItems = 10 }: Schema, named: Named, name: string) {
  return fc.oneof(
    fc.constant([]),
    valid(items, named, name).map((item) => new Array(maxItems + 1).fill(item)),
    valid(items, named, name).map((item) => [item, item]),
    broken(items, named, name).map((item) => [item]),
  );
}

export const oddTexts: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\udc00a',
    '\u202etxt',
    'e\u0301'.repeat(100),
    '__proto__',
    '../../etc/passwd',
    "'; DROP TABLE robots; --",
    '%00',
    'null',
    '2026-02-30T00:00:00Z',
    '2026-13-01',
    '+275760-09-13T00:00:00.000Z',
    '99999999999999999999',
    '-1',
    '00000000-0000-0000-0000-000000000000',
    '0X'.concat('F'.repeat(64)),
    'a'.repeat(5000),
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

export const oddValues: Arbitrary<unknown> = fc.oneof(
  oddTexts,
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    0.1,
    1e308,
    5e-324,
    2 ** 53,
    -(2 ** 53),
    [],
    {},
    [[]],
    [null],
    { id: {} },
  ),
  fc.jsonValue(),
);
