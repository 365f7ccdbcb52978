// Reads and validates environment variables by a schema.
import { envSchema } from 'env-schema';
import type { Static, TObject } from 'typebox';
import { SvcError } from './svc-error.ts';

interface EnvironmentRules {
  /** Variables with this prefix must be in the schema, unless `foreign` matches them. */
  prefix: string;
  foreign: RegExp;
  /** The hint of the error: what the operator should do. */
  hint: string;
  /** Errors that involve several variables, or that the schema cannot express. Receives the raw texts. */
  errorsOf: (given: Readonly<Record<string, string>>) => string[];
}

/**
 * Reads and validates the variables of `schema`. The result is coerced to the schema's types, has its defaults and is
 * frozen. An empty variable counts as absent.
 *
 * @throws SvcError `invalid_configuration`, one for all errors. It never contains a value.
 */
export function readEnvironment<Schema extends TObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
  { prefix, foreign, hint, errorsOf }: EnvironmentRules,
): Readonly<Static<Schema>> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) if (value) given[name] = value;
  const errors = [
    ...Object.keys(given)
      .filter((name) => name.startsWith(prefix) && !foreign.test(name))
      .filter((name) => !Object.hasOwn(schema.properties, name))
      .map((name) => `${name} is not a variable of this program`),
    ...integerErrors(schema, given),
    ...errorsOf(given),
  ];
  let values: Static<Schema>;
  try {
    values = envSchema<Static<Schema>>({ schema, data: { ...given }, env: false });
  } catch (thrown) {
    // For a variable with this error, the schema's own error would only repeat it.
    const unreadable = new Set(
      errors.filter((text) => / is not a URL\b/.test(text)).map(variableOf),
    );
    const others = schemaErrors(thrown, schema).filter(
      (error) => !unreadable.has(variableOf(error)),
    );
    throw invalidConfiguration([...new Set([...others, ...errors])], hint);
  }
  if (errors.length > 0) throw invalidConfiguration(errors, hint);
  return Object.freeze(values);
}

/** The schema's coercion would accept `0x20`, `1e3` and blanks as whole numbers. */
function integerErrors(schema: TObject, given: Readonly<Record<string, string>>): string[] {
  return Object.entries(given)
    .filter(
      ([name]) => (schema.properties[name] as { type?: string } | undefined)?.type === 'integer',
    )
    .filter(([, value]) => !/^-?\d+$/.test(value))
    .map(([name]) => `${name} must be a whole number`);
}

/** The variable an error is about: its first word. */
function variableOf(text: string): string {
  return text.replace(/ .*/s, '');
}

function invalidConfiguration(errors: string[], hint: string): SvcError {
  return new SvcError('invalid_configuration', errors.join('\n'), { hint });
}

interface SchemaError {
  keyword: string;
  instancePath: string;
  message?: string;
  params: { allowedValues?: string[]; type?: string };
}

function schemaErrors(thrown: unknown, schema: TObject): string[] {
  const errors = (thrown as { errors?: SchemaError[] }).errors;
  if (!errors) throw thrown;
  return errors.map((error) => {
    const name = error.instancePath.slice(1);
    if (error.params.allowedValues)
      return `${name} must be one of ${error.params.allowedValues.join(', ')}`;
    if (error.params.type === 'integer') return `${name} must be a whole number`;
    if (error.keyword !== 'pattern') return `${name} ${error.message ?? 'is not valid'}`;
    return `${name} is not valid: ${(schema.properties[name] as { description?: string })?.description}`;
  });
}
