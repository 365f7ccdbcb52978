// What `svc-server config` prints: the environment variables and their effective values.
import { readConfig, type ServerConfig } from '../config.ts';
import { secretVariables } from '../environment.ts';

export const effectiveValues = (variables: NodeJS.ProcessEnv) =>
  effectiveConfig(readConfig(variables));

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
