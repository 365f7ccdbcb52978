// The `config` command of svc-server and svc-agent.
import type { Command } from 'commander';
import {
  type DocumentedSchema,
  describeEnvironment,
  printEnvironment,
} from './describe-environment.ts';

/** The environment of a program. */
interface Configured {
  environment: DocumentedSchema;
  /** The effective value of each variable; a secret only shows that it is set. */
  effectiveValues(variables: NodeJS.ProcessEnv): Readonly<Record<string, unknown>>;
}

/** Adds the `config` command to a program that is configured by its environment. */
export function addConfigCommand(program: Command, load: () => Promise<Configured>): void {
  program
    .command('config')
    .description('Print the effective configuration with masked secrets')
    .option('--describe', 'print the meaning and default of each variable instead')
    .option('--json', 'print one JSON object')
    .action(async (options: { describe?: boolean; json?: boolean }) => {
      const { environment, effectiveValues } = await load();
      if (options.describe) describeEnvironment(environment);
      else printEnvironment(environment, effectiveValues(process.env), options);
    });
}
