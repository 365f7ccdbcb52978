import { environment, readConfig } from '../config.ts';

/** `svc-agent config`: every variable with its effective value; the key shows only that it is set. */
export function printConfig(variables: NodeJS.ProcessEnv, options: { json?: boolean }): void {
  const { values, serviceUrl, stateDir } = readConfig(variables);
  const effective: Record<string, unknown> = {
    ...values,
    SVC_AGENT_URL: serviceUrl,
    SVC_AGENT_STATE_DIR: stateDir,
    SVC_AGENT_KEY: values.SVC_AGENT_KEY === undefined ? null : '(set)',
  };
  const shown = Object.keys(environment.properties).map((name): [string, unknown] => [
    name,
    effective[name] ?? null,
  ]);
  process.stdout.write(
    options.json
      ? `${JSON.stringify(Object.fromEntries(shown))}\n`
      : shown.map(([name, value]) => `${name}=${value ?? ''}\n`).join(''),
  );
}

/** `svc-agent config --describe`: every variable with its default and meaning. */
export function describeConfig(): void {
  for (const { name, fallback, description } of documentation()) {
    const standard = fallback === '' ? '' : ` (default: ${fallback})`;
    process.stdout.write(`${name}\n    ${description}${standard}\n`);
  }
}

/** The table of docs/agent.md. */
export function agentVariablesTable(): string {
  const rows = documentation().map(
    ({ name, fallback, description }) => `| ${name} | ${fallback} | ${description} |`,
  );
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

function documentation() {
  return Object.entries(environment.properties).map(([name, schema]) => {
    const { description = '', default: fallback = '' } = schema as {
      description?: string;
      default?: unknown;
    };
    return { name, fallback: String(fallback), description };
  });
}
