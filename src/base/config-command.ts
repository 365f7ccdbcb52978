// The `config` command of svc-server and svc-agent.
import type { Command } from 'commander';

/** A program's functions to print its environment. */
interface ConfigCommand {
  describeConfig(): void;
  printConfig(variables: NodeJS.ProcessEnv, options: { json?: boolean }): void;
}

/** Adds the `config` command to a program that is configured by its environment. */
export function addConfigCommand(program: Command, load: () => Promise<ConfigCommand>): void {
  program
    .command('config')
    .description('Print the effective configuration, secrets masked')
    .option('--describe', 'print the meaning and default of each variable instead')
    .option('--json', 'print one JSON object')
    .action(async (options: { describe?: boolean; json?: boolean }) => {
      const { describeConfig, printConfig } = await load();
      if (options.describe) describeConfig();
      else printConfig(process.env, options);
    });
}
