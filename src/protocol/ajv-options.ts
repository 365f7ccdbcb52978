// How Ajv validates requests, in server and agent.
import { parseTimestamp } from './timestamp.ts';

/**
 * Ajv options for `ajv.customOptions` of Fastify: requests are validated, and no value is coerced, dropped or filled in.
 * `schemaError` needs `verbose`.
 */
export const ajvOptions = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  verbose: true,
  formats: { 'iso-8601': (text: string) => parseTimestamp(text) !== null },
} as const;
