// How Ajv validates requests, in server and agent.
import { parseTimestamp } from './timestamp.ts';

/**
 * Ajv options for `ajv.customOptions` of Fastify: requests are validated, and no value is coerced, dropped or filled in.
 * Only UUIDs change: to lower case. `schemaError` needs `verbose`.
 */
export const ajvOptions = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  verbose: true,
  keywords: [
    { keyword: 'x-lowercase', type: 'string' as const, modifying: true, validate: toLowerCase },
  ],
  formats: { 'iso-8601': (text: string) => parseTimestamp(text) !== null },
};

interface DataPlace {
  parentData: Record<string | number, unknown>;
  parentDataProperty: string | number;
}

function toLowerCase(_: true, data: string, _schema?: unknown, place?: DataPlace): boolean {
  if (place !== undefined) place.parentData[place.parentDataProperty] = data.toLowerCase();
  return true;
}
