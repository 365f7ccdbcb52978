import {
  describeEnvironment,
  environmentTable,
  printEnvironment,
} from '../../base/describe-environment.ts';
import { environment, readConfig } from '../config.ts';

/** `svc-agent config`: every variable with its effective value; the key shows only that it is set. */
export function printConfig(variables: NodeJS.ProcessEnv, options: { json?: boolean }): void {
  const { values, serviceUrl, stateDir } = readConfig(variables);
  const effective = {
    ...values,
    SVC_AGENT_URL: serviceUrl,
    SVC_AGENT_STATE_DIR: stateDir,
    SVC_AGENT_KEY: values.SVC_AGENT_KEY === undefined ? null : '(set)',
  };
  printEnvironment(environment, effective, options);
}

/** `svc-agent config --describe`: every variable with its default and meaning. */
export function describeConfig(): void {
  describeEnvironment(environment);
}

/** The table of docs/agent.md. */
export function agentVariablesTable(): string {
  return environmentTable(environment);
}
