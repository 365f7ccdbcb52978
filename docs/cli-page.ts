// Generates docs/cli.md from the declarations of the commands.
import { environment } from '../src/cli/commands/help.ts';
import { groupsFor } from '../src/cli/groups.ts';
import type { CommandSpec } from '../src/cli/program/command.ts';
import { exitCodes, meanings } from '../src/cli/program/exit-codes.ts';
import { globalOptions, type OptionSpec } from '../src/cli/program/options.ts';

export async function cliPage(): Promise<string> {
  const groups = await groupsFor([]);
  return `${[
    '# Command line',
    'Generated from `src/cli/commands` by `npm run docs`. `svc COMMAND --help` shows the section of the command.',
    'Commands print data to standard output, and everything else to standard error. On a terminal, lists are tables; into a file or pipe, they are tab-separated values without a header. With `--json`, commands print the answer of the service as JSON, and an error is one JSON object `{ error, message, hint }` on standard error. `svc` escapes control characters as `\\u{1b}`, in JSON as `\\u001b`.',
    'Name a robot, fleet or token by its id, the start of its id, or its exact name (a webhook by its exact URL), and a task, session or alert by its id or the start of its id.',
    'Commands with the option `--yes` ask before they act: for a name if data or keys are lost, otherwise for `y`. Without a terminal, they exit with 2, unless you pass `--yes`. `svc login` asks you to confirm the wallet. All other commands act at once, even if they delete something.',
    '## Options of every command',
    optionTable(globalOptions),
    '## Options of several commands',
    optionTable(shared(groups.flatMap(({ commands }) => commands))),
    '## Commands',
    ...groups.flatMap(({ commands }) => commands.map(section)),
    '## Exit codes',
    table(
      ['code', 'meaning'],
      Object.entries(meanings).map(([name, meaning]) => [
        String(exitCodes[name as keyof typeof exitCodes]),
        meaning,
      ]),
    ),
    '## Environment',
    table(['variable', 'meaning'], Object.entries(environment)),
  ].join('\n\n')}\n`;
}

function section({
  path,
  summary,
  details,
  arguments: args = [],
  options = [],
  ...spec
}: CommandSpec) {
  const explained = args.filter(({ summary }) => !named.test(summary));
  const own = options.filter((option) => !isShared(option));
  const others = options
    .filter(isShared)
    .map(({ flags }) => code(/--[\w-]+/.exec(flags)?.[0] ?? flags));
  const usage = ['svc', path, ...args.map(({ syntax }) => syntax)].join(' ');
  return [
    `### svc ${path}`,
    `${summary}.`,
    ...(details === undefined ? [] : [details]),
    [
      '```sh',
      `# ${usage}${options.length === 0 ? '' : ' [options]'}`,
      ...spec.examples,
      '```',
    ].join('\n'),
    ...(explained.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning'],
            explained.map(({ syntax, summary, choices = [] }) => [
              code(syntax),
              choices.length === 0 ? summary : `${summary} (${choices.join(', ')})`,
            ]),
          ),
        ]),
    ...(own.length === 0 ? [] : [optionTable(own)]),
    ...(others.length === 0 ? [] : [`Also ${others.join(', ')}.`]),
  ].join('\n\n');
}

/** Summaries of arguments that the introduction explains. */
const named = /^id(, or start of an id|, start of an id, or exact (name|URL))$/;

/** Options that several commands declare in the same way. */
const sharedFlags =
  /^(-y, --yes|-n, --limit|--cursor|--key-file|--password-file|--allow-duplicate)\b/;

function isShared({ flags, summary }: OptionSpec): boolean {
  return sharedFlags.test(flags) && !summary.includes('default: all');
}

function shared(commands: readonly CommandSpec[]): OptionSpec[] {
  const options = commands.flatMap((command) => command.options ?? []).filter(isShared);
  return [...new Map(options.map((option) => [option.flags, option])).values()];
}

function optionTable(options: readonly OptionSpec[]): string {
  const rows = options.map(({ flags, summary, completes, ...option }) => {
    const notes = [
      ...(Array.isArray(completes) ? [completes.join(', ')] : []),
      ...(option.default === undefined ? [] : [`default ${option.default}`]),
    ];
    return [code(flags), notes.length === 0 ? summary : `${summary} (${notes.join('; ')})`];
  });
  return table(['option', 'meaning'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}
