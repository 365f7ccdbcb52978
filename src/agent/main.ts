// The program `svc-agent`: its commands, and the exit code of each outcome.
import { Command } from 'commander';
import { addConfigCommand } from '../base/config-command.ts';
import { addInstallCommands } from '../base/install/commands.ts';
import { prepareErrors, reportError } from '../base/report-error.ts';
import { packageVersion } from '../base/version.ts';
import { inputErrors } from '../protocol/errors.ts';
import { nearestName } from '../protocol/nearest-name.ts';

/** Takes the exit code of a command that finished. A command that ends with 0 need not call it. */
type ExitWith = (code: number) => void;

type AddCommands = (program: Command, exitWith: ExitWith) => void;
type LoadGroup = () => Promise<{ addCommands: AddCommands }>;

const loadConfig = async () => ({
  addCommands: (to: Command) => addConfigCommand(to, () => import('./config.ts')),
});
const loadCompletion = async () => ({
  addCommands: (await import('../base/completion.ts')).addCompletionCommand,
});
const loadRobot = () => import('./commands/robot.ts');
const loadInstall = async () => ({
  addCommands: (to: Command) =>
    addInstallCommands(to, async () => (await import('./installation.ts')).agentInstallation),
});

/** Commands by name, in the order of the help. A group is loaded when one of its commands is named. */
const groups: ReadonlyMap<string | undefined, LoadGroup> = new Map<string, LoadGroup>([
  ['run', () => import('./commands/run.ts')],
  ['status', () => import('./commands/status.ts')],
  ['doctor', () => import('./commands/doctor.ts')],
  ['config', loadConfig],
  ['claim', loadRobot],
  ['complete', loadRobot],
  ['telemetry', loadRobot],
  ['event', loadRobot],
  ['receipts', loadRobot],
  ['key', () => import('./commands/key.ts')],
  ['identity', () => import('./commands/identity.ts')],
  ['spool', () => import('./commands/spool.ts')],
  ['install', loadInstall],
  ['uninstall', loadInstall],
  ['completion', loadCompletion],
]);

const exitCodes: Readonly<Record<string, number>> = {
  ...Object.fromEntries(inputErrors.map((code) => [code, 2])),
  invalid_configuration: 2,
  usage: 2,
  agent_unreachable: 7,
  service_unreachable: 7,
  unexpected_answer: 7,
  anchor_unconfirmed: 8,
  completion_in_progress: 8,
};

/**
 * Runs `svc-agent` and returns its exit code: 0 done, 1 failed, 2 usage or configuration, 7 the daemon or
 * the service cannot be reached, 8 not anchored yet.
 */
export async function main(argv: string[]): Promise<number> {
  if (argv[2] === '__complete') {
    const { printCandidates } = await import('../base/completion.ts');
    await printCandidates(await createProgram(() => {}, argv[3]), argv.slice(3));
    return 0;
  }
  let exitCode = 0;
  try {
    const program = await createProgram((code) => {
      exitCode = code;
    }, argv[2]);
    prepareErrors(program, nearestName);
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
      'Daemon on the robot that stores claims, evidence, samples and events until the service has them',
    )
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .exitOverride()
    .addHelpText(
      'after',
      '\nExamples:\n  svc-agent run                       run the daemon, configured by SVC_AGENT_… variables\n  svc-agent status\n  svc-agent claim "Survey the office hall"',
    );
  const named = groups.get(name);
  const isVersion = name === '--version' || name === '-V';
  const all = isVersion ? [] : new Set(groups.values());
  for (const load of named ? [named] : all) (await load()).addCommands(program, exitWith);
  return program;
}
