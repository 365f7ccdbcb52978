// Reads and validates environment variables by a schema.
import { envSchema } from 'env-schema';
import type { Static, TObject } from 'typebox';
import { SvcError } from './svc-error.ts';

export interface EnvironmentRules {
  /** Variables that begin with it must be known, unless `foreign` says that they are another program's. */
  prefix: string;
  foreign: RegExp;
  /** What a reader of faults can do. */
  hint: string;
  /** Faults between variables, from their texts. */
  faultsOf: (given: Readonly<Record<string, string>>) => string[];
}

/**
 * The variables of `schema`, read once: coerced to its types, with its defaults, frozen. An empty
 * variable counts as absent. Rejects with one SvcError `invalid_configuration` that lists every
 * fault; values never appear in it.
 */
export function readEnvironment<Schema extends TObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
  { prefix, foreign, hint, faultsOf }: EnvironmentRules,
): Readonly<Static<Schema>> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) if (value) given[name] = value;
  const faults = [
    ...Object.keys(given)
      .filter((name) => name.startsWith(prefix) && !foreign.test(name))
      .filter((name) => !Object.hasOwn(schema.properties, name))
      .map((name) => `${name} is not a variable of this program`),
    ...faultsOf(given),
  ];
  let values: Static<Schema>;
  try {
    values = envSchema<Static<Schema>>({ schema, data: { ...given }, env: false });
  } catch (error) {
    const unreadable = new Set(faults.filter(isNoUrl).map(variableOf));
    const others = schemaFaults(error, schema).filter(
      (fault) => !unreadable.has(variableOf(fault)),
    );
    throw invalidConfiguration([...others, ...faults], hint);
  }
  if (faults.length > 0) throw invalidConfiguration(faults, hint);
  return Object.freeze(values);
}

/** Nothing that the schema finds adds to it. */
function isNoUrl(fault: string): boolean {
  return / is not a URL\b/.test(fault);
}

/** The variable that a fault begins with. */
function variableOf(fault: string): string {
  return fault.replace(/ .*/s, '');
}

function invalidConfiguration(faults: string[], hint: string): SvcError {
  return new SvcError('invalid_configuration', faults.join('\n'), { hint });
}

interface SchemaFault {
  keyword: string;
  instancePath: string;
  message?: string;
  params: { allowedValues?: string[]; type?: string };
}

function schemaFaults(error: unknown, schema: TObject): string[] {
  const faults = (error as { errors?: SchemaFault[] }).errors;
  if (!faults) throw error;
  return faults.map((fault) => {
    const name = fault.instancePath.slice(1);
    if (fault.params.allowedValues)
      return `${name} must be one of ${fault.params.allowedValues.join(', ')}`;
    if (fault.params.type === 'integer') return `${name} must be a whole number`;
    if (fault.keyword !== 'pattern') return `${name} ${fault.message ?? 'is not valid'}`;
    return `${name} is not valid: ${(schema.properties[name] as { description?: string })?.description}`;
  });
}
