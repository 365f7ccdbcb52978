// Generates .env.example from the environment variables of svc-server.
import { documentation } from '../src/base/describe-environment.ts';
import { environment } from '../src/server/environment.ts';

/** The maximum of variables that have no limit of their own. */
const NO_MAXIMUM = 2 ** 31 - 1;

export function exampleEnvironment(): string {
  const lines = documentation(environment).map(({ name, fallback, description }) => {
    const values = valuesOf(name);
    return `# ${description}${values === '' ? '' : ` [${values}]`}\n# ${name}=${fallback}\n`;
  });
  return [
    '# Every variable of svc-server start. Copy to .env, uncomment what you set, and run\n# node --env-file=.env bin/svc-server.js start\n',
    ...lines,
  ].join('\n');
}

/** The range or the list of values that the schema allows; empty if it is free text. */
function valuesOf(name: string): string {
  const { type, minimum, maximum, ...schema } = schemaOf(name);
  if (schema.enum !== undefined) return schema.enum.join(', ');
  if (type === 'boolean') return 'true, false';
  if (minimum === undefined) return '';
  return maximum === undefined || maximum === NO_MAXIMUM
    ? `${minimum} or more`
    : `${minimum} to ${maximum}`;
}

interface VariableSchema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

function schemaOf(name: string): VariableSchema {
  const schemas: Readonly<Record<string, unknown>> = environment.properties;
  return schemas[name] as VariableSchema;
}
