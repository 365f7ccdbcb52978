// Builds the commander program from declarations of commands.
import { Argument, Command, Option } from 'commander';
import { SvcError } from '../../base/svc-error.ts';
import { packageVersion } from '../../base/version.ts';
import type { CommandGroup, CommandSpec } from './command.ts';
import { type Completes, type GlobalOptions, globalOptions, type OptionSpec } from './options.ts';

/** Receives the command that was called, its input and the global options. */
type Dispatch = (
  spec: CommandSpec,
  input: Record<string, unknown>,
  options: GlobalOptions,
) => Promise<void>;

/** What the shell offers for an option or an argument. */
export const completesOf = new WeakMap<Option | Argument, Completes>();

/** The commands of `groups` as a commander program. */
export function buildProgram(groups: readonly CommandGroup[], dispatch: Dispatch): Command {
  const program = new Command('svc')
    .description('Manage robots, follow their anchored proofs, and verify proofs on the chain')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', () =>
      examplesOf(['svc login https://svc.example.org', 'svc robots list', 'svc help exit-codes']),
    );
  for (const option of globalOptions) program.addOption(optionOf(option));
  for (const { name, summary, commands } of groups) {
    const isLone = commands[0]?.path === name;
    const parent = isLone ? program : program.command(name).summary(summary).description(summary);
    for (const spec of commands) addCommand(parent, spec, dispatch);
  }
  return program;
}

function addCommand(parent: Command, spec: CommandSpec, dispatch: Dispatch): void {
  const command = parent
    .command(spec.path.split(' ').at(-1) ?? '')
    .summary(spec.summary)
    .description(descriptionOf(spec))
    .addHelpText('after', () => examplesOf(spec.examples));
  for (const { syntax, summary, completes, choices } of spec.arguments ?? []) {
    const argument = new Argument(syntax, summary);
    if (choices !== undefined) argument.choices(choices);
    if (completes !== undefined) completesOf.set(argument, completes);
    command.addArgument(argument);
  }
  // Of `--fleet` and `--no-fleet`, commander obeys the last one.
  const typed = new Set<string>();
  for (const option of (spec.options ?? []).map(optionOf)) {
    command.addOption(option).on(`option:${option.name()}`, () => typed.add(option.name()));
  }
  command.action(async () => {
    const both = [...typed].find((name) => typed.has(`no-${name}`));
    if (both) throw new SvcError('usage', `--${both} and --no-${both} exclude each other.`);
    const named = command.registeredArguments.map((argument, i) => [
      camelCase(argument.name()),
      command.processedArgs[i],
    ]);
    const input = { ...Object.fromEntries(named), ...command.opts() };
    await dispatch(spec, input, command.optsWithGlobals<GlobalOptions>());
  });
}

function optionOf(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.summary);
  if (spec.default !== undefined) option.default(spec.default);
  if (spec.parse !== undefined) option.argParser(spec.parse);
  if (Array.isArray(spec.completes)) option.choices(spec.completes);
  else if (spec.completes !== undefined) completesOf.set(option, spec.completes);
  return option;
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function examplesOf(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`;
}

/** Joins the lines of each paragraph, because commander wraps the text. */
function descriptionOf({ summary, details }: CommandSpec): string {
  return details === undefined
    ? summary
    : `${summary}.\n\n${details.replace(/(?<!\n)\n(?!\n)/g, ' ')}`;
}
