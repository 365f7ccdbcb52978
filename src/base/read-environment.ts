import { type EnvSchemaData, envSchema } from 'env-schema';
import type { Static, TObject } from 'typebox';
import { SvcError } from './svc-error.ts';

/**
 * The variables of `schema`, read once: coerced to its types, with its defaults, frozen. An empty
 * variable counts as absent. Rejects with one SvcError `invalid_configuration` that lists every
 * fault, unknown variables that begin with `prefix` included; values never appear in it.
 */
export function readEnvironment<Schema extends TObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
  { prefix, foreign }: { prefix: string; foreign: RegExp },
): Readonly<Static<Schema>> {
  const given = Object.entries(environment).filter(([, value]) => value !== '');
  const unknown = given
    .map(([name]) => name)
    .filter((name) => name.startsWith(prefix) && !foreign.test(name))
    .filter((name) => !Object.hasOwn(schema.properties, name))
    .map((name) => `${name} is not a variable of this program`);
  try {
    const data: EnvSchemaData = Object.fromEntries(given);
    const values = envSchema<Static<Schema>>({ schema, data, env: false });
    if (unknown.length > 0) throw invalidConfiguration(unknown);
    return Object.freeze(values);
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw invalidConfiguration([...faultsOf(error, schema), ...unknown]);
  }
}

export function invalidConfiguration(
  faults: string[],
  hint = 'svc-server config --describe lists every variable.',
): SvcError {
  return new SvcError('invalid_configuration', faults.join('\n'), { hint });
}

interface SchemaFault {
  keyword: string;
  instancePath: string;
  message?: string;
  params: { allowedValues?: string[] };
}

function faultsOf(error: unknown, schema: TObject): string[] {
  const faults = (error as { errors?: SchemaFault[] }).errors;
  if (!faults) throw error;
  return faults.map((fault) => {
    const name = fault.instancePath.slice(1);
    if (fault.params.allowedValues)
      return `${name} must be one of ${fault.params.allowedValues.join(', ')}`;
    if (fault.keyword !== 'pattern') return `${name} ${fault.message ?? 'is not valid'}`;
    return `${name} is not valid; it is the ${(schema.properties[name] as { description?: string })?.description}`;
  });
}
