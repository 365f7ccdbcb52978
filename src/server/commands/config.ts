// `svc-server config`: prints the environment variables.
import {
  describeEnvironment,
  documentation,
  printEnvironment,
} from '../../base/describe-environment.ts';
import { readConfig, type ServerConfig } from '../config.ts';
import { environment, secretVariables } from '../environment.ts';

/** `svc-server config`: prints every variable with its effective value. A secret only shows that it is set. */
export function printConfig(variables: NodeJS.ProcessEnv, options: { json?: boolean }): void {
  printEnvironment(environment, effectiveConfig(readConfig(variables)), options);
}

/** The effective value of each variable. A secret only shows that it is set. */
export function effectiveConfig({ values, baseUrl, database }: ServerConfig) {
  const secrets = [...secretVariables].filter((name) => Object.hasOwn(values, name));
  return {
    ...values,
    SVC_BASE_URL: baseUrl,
    ...(database.kind === 'sqlite' && { SVC_DATABASE_URL: `sqlite:${database.path}` }),
    ...Object.fromEntries(secrets.map((name) => [name, '(set)'])),
  };
}

/** `svc-server config --describe`: prints every variable with its default and meaning. */
export function describeConfig(): void {
  describeEnvironment(environment);
}

/** The content of `.env.example`; a test compares them. */
export function exampleEnvironment(): string {
  const lines = documentation(environment).map(
    ({ name, fallback, description }) => `# ${description}\n# ${name}=${fallback}\n`,
  );
  return [
    '# Every variable of svc-server start. Copy to .env, uncomment what you set, and run\n# node --env-file=.env bin/svc-server.js start\n',
    ...lines,
  ].join('\n');
}
