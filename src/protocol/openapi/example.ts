// Example values for the schemas of the OpenAPI document.
/** The part of JSON Schema that the protocol uses. */
export interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  minItems?: number;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
  maxLength?: number;
  pattern?: string;
  description?: string;
}

/**
 * A readable value that matches the schema: from its `examples`, else from the table below by the name of the member,
 * else the simplest value of its type. A union shows its first branch.
 */
export function exampleOf(schema: Schema, name = ''): unknown {
  if (schema.const !== undefined) return schema.const;
  const given = schema.examples?.[0] ?? schema.enum?.[0];
  if (given !== undefined) return given;
  const [branch] = schema.anyOf ?? [];
  if (branch !== undefined) return exampleOf(branch, name);
  const named = Object.hasOwn(byName, name) ? byName[name] : undefined;
  if (named !== undefined && kindOf(named) === schema.type && matches(schema, named)) return named;
  switch (schema.type) {
    case 'object':
      return objectExample(schema);
    case 'array':
      return Array.from({ length: schema.minItems || 1 }, () =>
        exampleOf(schema.items ?? {}, name.replace(/s$/, '')),
      );
    case 'integer':
    case 'number':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return texts.find((text) => matches(schema, text)) ?? 'text';
  }
}

function matches({ pattern, maxLength }: Schema, value: unknown): boolean {
  if (typeof value !== 'string') return true;
  if (maxLength !== undefined && value.length > maxLength) return false;
  return pattern === undefined || new RegExp(pattern, 'u').test(value);
}

/** Tried in this order for a string that has only a pattern. */
const texts = [
  'text',
  '1',
  '2026-11-20',
  '0x5e',
  `0x${'5e'.repeat(20)}`,
  `0x${'5e'.repeat(32)}`,
  '5e'.repeat(32),
  'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  '1795204605000_01a1fa88-6262-702f-af77-0aaec0d1b17b',
];

/** A robot has the hint `next` in place of its key, so the example shows the key alone. */
function objectExample({ properties = {}, patternProperties }: Schema): Record<string, unknown> {
  const members = Object.entries(properties)
    .filter(([key]) => !(key === 'next' && properties.api_key))
    .map(([key, schema]) => [key, exampleOf(schema, key)]);
  const [value] = Object.values(patternProperties ?? {});
  const isOpen = members.length === 0 && value?.type !== undefined;
  return isOpen ? { key: exampleOf(value, 'key') } : Object.fromEntries(members);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

const evidence = { distance_m: 3.269, rooms: 4, nonce: '6c1f0e1b2a9d4c53' };

/** Example values by member name. */
const byName: Readonly<Record<string, unknown>> = {
  user_code: '7KQ2-M9XD',
  title: 'Survey the office hall',
  name: 'hall-robot-1',
  robot: 'hall-robot-1',
  description: 'Lidar map of the ground floor',
  expected_result: { rooms: 4 },
  proof: evidence,
  next: 'Do the work, then submit the evidence as proof with POST /api/v1/tasks/:id/complete',
  tag: 'lidar',
  location: 'Building 7',
  shift: 'night',
  state: 'busy',
  metrics: { speed_mps: 0.42 },
  payload: { joint: 3 },
  event_type: 'state_change',
  degraded: [],
  message: 'A text',
  limit: '50',
  key_hint: '5f2a9c01',
  signature: `0x${'5e'.repeat(65)}`,
  chainName: 'Example chain',
  symbol: 'ETH',
  decimals: 18,
  chain_id: 31337,
  rpcUrls: ['https://rpc.example.org'],
  blockExplorerUrls: ['https://explorer.example.org'],
  leaf_count: 3,
  leaf_index: 1,
};
