// Generates docs/configuration.md and .env.example from the environment variables of svc-server.
import { documentation } from '../src/base/describe-environment.ts';
import { environment } from '../src/server/environment.ts';

/** The sections of the page, in order; a variable belongs to the first one that matches its name. */
const sections: readonly [title: string, names: RegExp][] = [
  ['HTTP', /^SVC_(HOST|PORT|BASE_URL|TRUST_PROXY)$/],
  ['Database and disk', /^SVC_(DATA|DISK)/],
  ['Chain', /^SVC_(ALLOW_PLAINTEXT|CHAIN_(?!PROOFS)|EXPLORER|PUBLIC_RPC|NATIVE_CURRENCY|VERIFY)/],
  ['Anchoring', /^SVC_(ANCHOR_|CHAIN_PROOFS$)/],
  ['Accounts', /^SVC_(GATE|SIGNUP)/],
  ['Retention', /_RETENTION_DAYS$/],
  ['Metrics and log', /^SVC_(METRICS|LOG)/],
  ['Other', /^/],
];

/** The maximum of variables that have no limit of their own. */
const NO_MAXIMUM = 2 ** 31 - 1;

export function configurationPage(): string {
  const variables = documentation(environment);
  const sectionOf = (name: string) => sections.find(([, names]) => names.test(name))?.[0];
  return `${[
    '# Configuration of svc-server',
    'Generated from `src/server/environment.ts` by `npm run docs`; a test fails when it is stale.',
    'After reading this page you can set every environment variable of `svc-server`. If a value is invalid or an `SVC_` variable is unknown, the start fails, and the error lists all mistakes. `svc-server` ignores `SVC_URL`, `SVC_TOKEN`, `SVC_PROFILE`, `SVC_CONFIG_DIR` and the variables of `svc-agent`. An empty variable counts as not set.',
    '- `svc-server config` prints the effective values and masks secrets. `svc-server config --describe` prints this ' +
      'reference.\n' +
      '- `.env.example` contains every variable. Copy the file to `.env`, and run every command with `.env`: ' +
      '`node --env-file=.env bin/svc-server.js start`.\n' +
      '- `svc-server start` needs `SVC_CHAIN_RPC_URL`, and one of `SVC_ANCHOR_KEY_FILE` and `SVC_ANCHOR_PRIVATE_KEY`. ' +
      '`svc-server dev` needs no variable.\n' +
      '- Other programs: [svc-agent](agent.md#environment), [svc](cli.md#environment).',
    ...sections.flatMap(([title]) => {
      const rows = variables.filter(({ name }) => sectionOf(name) === title).map(row);
      return rows.length === 0 ? [] : [`## ${title}`, table(rows)];
    }),
  ].join('\n\n')}\n`;
}

function table(rows: readonly string[]): string {
  return ['| variable | default | values | meaning |', '|---|---|---|---|', ...rows].join('\n');
}

function row({ name, fallback, description }: ReturnType<typeof documentation>[number]): string {
  const cells = [name, fallback, valuesOf(name), description];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
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

/** The content of `.env.example`. */
export function exampleEnvironment(): string {
  const lines = documentation(environment).map(
    ({ name, fallback, description }) => `# ${description}\n# ${name}=${fallback}\n`,
  );
  return [
    '# Every variable of svc-server start. Copy to .env, uncomment what you set, and run\n# node --env-file=.env bin/svc-server.js start\n',
    ...lines,
  ].join('\n');
}
