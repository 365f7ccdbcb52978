// Generates docs/cli.md from the declarations of the commands.
import { environment } from '../src/cli/commands/help.ts';
import type { CommandSpec } from '../src/cli/program/command.ts';
import { exitCodes, meanings } from '../src/cli/program/exit-codes.ts';
import { groupsFor } from '../src/cli/program/groups.ts';
import { globalOptions, type OptionSpec } from '../src/cli/program/options.ts';

export async function cliPage(): Promise<string> {
  const groups = await groupsFor([]);
  return `${[
    '# Command line',
    'Generated from `src/cli/commands` by `npm run docs`. `svc COMMAND --help` shows the same.',
    'After reading this page you can use every command of `svc`, by hand and in scripts.',
    'Data goes to standard output, everything else to standard error. Data is a table on a terminal and ' +
      'tab-separated values without a header elsewhere; with `--json` it is the answer of the service. Control ' +
      'characters in the text of robots are shown as escapes, `\\u{1b}`; JSON contains them unchanged. Name robots ' +
      'and fleets by id, by the start of an id, or by their exact name; tasks by id or the start of one. With `--json`, ' +
      'an error is one JSON object `{ error, message, hint }` on standard error.',
    'A command that deletes something asks you to type the name; `--yes` skips that. Without a terminal and without ' +
      '`--yes` it exits with 2.',
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
            args.map((a) => [code(a.syntax), a.summary]),
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
