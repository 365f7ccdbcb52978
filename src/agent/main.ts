// The program `svc-agent`: its commands, and the exit code of each outcome.
import { Command } from 'commander';
import { addConfigCommand } from '../base/config-command.ts';
import { addInstallCommands } from '../base/install-commands.ts';
import { reportError } from '../base/report-error.ts';
import { packageVersion } from '../base/version.ts';

/** Takes the exit code of a command that finished. A command that ends with 0 need not call it. */
type ExitWith = (code: number) => void;

interface CommandGroup {
  /** Names of the commands in the group. */
  readonly names: readonly string[];
  load(): Promise<{ addCommands(program: Command, exitWith: ExitWith): void }>;
}

/** In the order of the help. */
const groups: readonly CommandGroup[] = [
  { names: ['run'], load: () => import('./commands/run.ts') },
  { names: ['status'], load: () => import('./commands/status.ts') },
  { names: ['doctor'], load: () => import('./commands/doctor.ts') },
  {
    names: ['config'],
    load: async () => ({
      addCommands: (program) => addConfigCommand(program, () => import('./config.ts')),
    }),
  },
  {
    names: ['claim', 'complete', 'telemetry', 'event', 'receipts'],
    load: () => import('./commands/robot.ts'),
  },
  { names: ['key'], load: () => import('./commands/key.ts') },
  { names: ['spool'], load: () => import('./commands/spool.ts') },
  {
    names: ['install', 'uninstall'],
    load: async () => ({
      addCommands: (program) =>
        addInstallCommands(
          program,
          async () => (await import('./installation.ts')).agentInstallation,
        ),
    }),
  },
];

const exitCodes: Readonly<Record<string, number>> = {
  invalid_configuration: 2,
  usage: 2,
  agent_unreachable: 7,
  service_unreachable: 7,
  anchor_unconfirmed: 8,
  completion_in_progress: 8,
};

/**
 * Runs `svc-agent` and returns its exit code: 0 done, 1 failed, 2 usage or configuration, 7 the daemon cannot
 * be reached, 8 not anchored yet.
 */
export async function main(argv: string[]): Promise<number> {
  let exitCode = 0;
  try {
    const program = await createProgram((code) => {
      exitCode = code;
    }, argv[2]);
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    return reportError('svc-agent', error, exitCodes);
  }
}

/**
 * The program with the group of the command `name` alone, to keep the start short. For any other name (help,
 * usage errors) it has all groups.
 */
export async function createProgram(exitWith: ExitWith, name?: string): Promise<Command> {
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
  const named = groups.filter(({ names }) => names.includes(name ?? ''));
  const isVersion = name === '--version' || name === '-V';
  for (const { load } of named.length > 0 || isVersion ? named : groups) {
    (await load()).addCommands(program, exitWith);
  }
  return program;
}
