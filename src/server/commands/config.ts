// `svc-server config`: prints the environment variables.
import { describeEnvironment, printEnvironment } from '../../base/describe-environment.ts';
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
