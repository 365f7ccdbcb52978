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
    'After reading this page you can use every command of `svc`, by hand and in scripts.',
    'Commands print data to standard output, and everything else to standard error. If standard output is a terminal, a command that lists something prints a table. If standard output is a file or a pipe, the command prints tab-separated values without a header. With `--json`, commands print the answer of the service as JSON, and an error is one JSON object `{ error, message, hint }` on standard error. ' +
      '`svc` replaces control characters in its output by escapes such as `\\u{1b}`. With `--json`, `svc` uses only the escapes of JSON, such as `\\u001b`. ' +
      '`svc` reads at most 64 MiB of an answer, and of each line of a stream; the answers of a service are shorter.',
    'You can name a robot or fleet by its id, by the start of its id, or by its exact name. You can name a task by its ' +
      'id, or by the start of its id.',
    'Some commands ask before they do something. If data or keys are lost, you type a name, for example the name of the robot to delete. If little is lost, for example when you delete a fleet, you answer `y`. For these commands, the tables below list the option `--yes`, which skips the question. Without a terminal, these commands exit with 2, unless you pass `--yes`. `svc login` asks you to confirm the wallet. All other commands act at once, even if they delete something. Some commands ask for input: the address ' +
      'of a wallet, a signature, or the password of an encrypted key file.',
    '## Options of every command',
    optionTable(globalOptions),
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
    ...(args.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning'],
            args.map(({ syntax, summary, choices = [] }) => [
              code(syntax),
              choices.length === 0 ? summary : `${summary} (${choices.join(', ')})`,
            ]),
          ),
        ]),
    ...(options.length === 0 ? [] : [optionTable(options)]),
  ].join('\n\n');
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
