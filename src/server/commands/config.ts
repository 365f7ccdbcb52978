import { environment, readConfig, secretVariables } from '../config.ts';

interface Documented {
  description?: string;
  default?: unknown;
}

/** `svc-server config`: every variable with its effective value; a secret shows only that it is set. */
export function printConfig(variables: NodeJS.ProcessEnv, options: { json?: boolean }): void {
  const { values, baseUrl, databasePath } = readConfig(variables);
  const effective: Record<string, unknown> = {
    ...values,
    SVC_BASE_URL: baseUrl,
    SVC_DATABASE_URL: values.SVC_DATABASE_URL ?? `sqlite:${databasePath}`,
  };
  const shown = Object.keys(environment.properties).map((name): [string, unknown] => {
    const secret = secretVariables.has(name) && Object.hasOwn(values, name);
    return [name, secret ? '(set)' : (effective[name] ?? null)];
  });
  process.stdout.write(
    options.json
      ? `${JSON.stringify(Object.fromEntries(shown))}\n`
      : shown.map(([name, value]) => `${name}=${value ?? ''}\n`).join(''),
  );
}

/** `svc-server config --describe`: every variable with its default and meaning. */
export function describeConfig(): void {
  for (const { name, fallback, description } of documentation()) {
    const standard = fallback === '' ? '' : ` (default: ${fallback})`;
    process.stdout.write(`${name}\n    ${description}${standard}\n`);
  }
}

/** The README's table of the environment; a test holds the README to it. */
export function variablesTable(): string {
  const rows = documentation().map(
    ({ name, fallback, description }) => `| ${name} | ${fallback} | ${description} |`,
  );
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

/** `.env.example`; a test holds the file to it. */
export function exampleEnvironment(): string {
  const lines = documentation().map(
    ({ name, fallback, description }) => `# ${description}\n# ${name}=${fallback}\n`,
  );
  return [
    '# Every variable of svc-server start. Copy to .env, uncomment what you set, and run\n# node --env-file=.env bin/svc-server.js start\n',
    ...lines,
  ].join('\n');
}

function documentation() {
  return Object.entries(environment.properties).map(([name, schema]) => {
    const { description = '', default: fallback = '' } = schema as Documented;
    return { name, fallback: String(fallback), description };
  });
}
