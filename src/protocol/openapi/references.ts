// Names the shared schemas of the OpenAPI document.
import type { TSchema } from 'typebox';
import * as account from '../account.ts';
import * as bundle from '../bundle.ts';
import * as fields from '../fields.ts';
import * as fleets from '../fleets.ts';
import * as resources from '../resources.ts';
import { ErrorBody } from '../routes.ts';
import * as telemetry from '../telemetry.ts';
import type { Schema } from './example.ts';

/** Name of a component by the JSON text of its schema. */
export type Names = ReadonlyMap<string, string>;

export function namedSchemas(): Names {
  const named = new Map<string, string>();
  const schemas = {
    Error: ErrorBody,
    ...resources,
    ...account,
    ...bundle,
    ...fleets,
    ...telemetry,
    ...fields,
  };
  for (const [name, schema] of Object.entries(schemas)) {
    if (typeof schema !== 'object') continue;
    const text = JSON.stringify(schema);
    if (!named.has(text)) named.set(text, name);
  }
  return named;
}

/** The schema with references instead of the named schemas. */
export function withRefs(schema: unknown, named: Names): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  const name = named.get(JSON.stringify(schema));
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  if (Array.isArray(schema)) return schema.map((one) => withRefs(one, named));
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withRefs(value, named)]),
  );
}

export function plain(schema: TSchema): Schema {
  return JSON.parse(JSON.stringify(schema));
}
