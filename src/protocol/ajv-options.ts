// How Ajv validates requests, in server and agent.
import { parseTimestamp } from './timestamp.ts';

/**
 * How Ajv holds requests to the schemas of the routes, for `ajv.customOptions` of Fastify: nothing is coerced, dropped or
 * filled in. `verbose` is what `schemaError` reads.
 */
export const ajvOptions = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  verbose: true,
  formats: { 'iso-8601': (text: string) => parseTimestamp(text) !== null },
} as const;
