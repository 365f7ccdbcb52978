import { Command } from 'commander';
import { reportError } from '../base/report-error.ts';
import { packageVersion } from '../base/version.ts';
import { addCommands } from './commands.ts';

/**
 * Runs `svc-agent` and answers its exit code: 0 done, 1 failed, 2 usage or configuration, 7 the daemon cannot be
 * reached, 8 not there yet. Commands load what they need when they run.
 */
export async function main(argv: string[]): Promise<number> {
  let exitCode = 0;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return reportError('svc-agent', error, codes);
  }
}

/** `exitWith` is told the code of a command that was done, where it is not 0. */
export function createProgram(exitWith: (code: number) => void): Command {
  const program = new Command('svc-agent')
    .description(
      'The daemon on the robot: keeps claims, evidence and telemetry until they are delivered',
    )
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError('Run with --help for usage and examples.')
    .addHelpText(
      'after',
      '\nExamples:\n  svc-agent run                       from the environment, see svc-agent config --describe' +
        '\n  svc-agent status\n  svc-agent claim "Survey the office hall"',
    );
  addCommands(program, exitWith);
  return program;
}

const codes: Readonly<Record<string, number>> = {
  invalid_configuration: 2,
  usage: 2,
  agent_unreachable: 7,
  service_unreachable: 7,
  anchor_unconfirmed: 8,
  completion_in_progress: 8,
};
