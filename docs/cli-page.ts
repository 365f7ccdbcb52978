// Generates docs/cli.md from the declarations of the commands.
import { groupsFor } from '../src/cli/groups.ts';
import type { CommandSpec } from '../src/cli/program/command.ts';
import { exitCodes, meanings } from '../src/cli/program/exit-codes.ts';
import { globalOptions } from '../src/cli/program/options.ts';

export async function cliPage(): Promise<string> {
  const groups = await groupsFor([]);
  return `${[
    '# Command line',
    'Generated from `src/cli/commands` by `npm run docs`. `svc COMMAND --help` explains the arguments and options of a command, and shows examples; `svc help environment` lists the variables.',
    'Commands print data to standard output, and everything else to standard error. On a terminal, lists are tables; into a file or pipe, they are tab-separated values without a header. With `--json`, commands print the answer of the service as JSON, and an error is one JSON object `{ error, message, hint }` on standard error. `svc` escapes control characters as `\\u{1b}`, in JSON as `\\u001b`.',
    'Name a robot, fleet or token by its id, the start of its id, or its exact name (a webhook by its exact URL), and a task, session or alert by its id or the start of its id.',
    'Commands with the option `--yes` ask before they act: for a name if data or keys are lost, otherwise for `y`. Without a terminal, they exit with 2, unless you pass `--yes`. `svc login` asks you to confirm the wallet. All other commands act at once, even if they delete something.',
    '## Options of every command',
    globalOptions.map(({ flags, summary }) => `- ${code(flags)}: ${summary}`).join('\n'),
    '## Commands',
    groups.flatMap(({ commands }) => commands.map((command) => `- ${entry(command)}`)).join('\n'),
    '## Exit codes',
    Object.entries(meanings)
      .map(([name, meaning]) => `- ${exitCodes[name as keyof typeof exitCodes]}: ${meaning}`)
      .join('\n'),
  ].join('\n\n')}\n`;
}

/** One line; the help has options and details. */
function entry({ path, summary, arguments: args = [] }: CommandSpec): string {
  const usage = ['svc', path, ...args.map(({ syntax }) => syntax)].join(' ');
  return `${code(usage)}: ${summary}.`;
}

function code(text: string): string {
  return `\`${text}\``;
}
