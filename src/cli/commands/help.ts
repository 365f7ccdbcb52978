import { SvcError } from '../../base/svc-error.ts';
import { buildProgram } from '../build-program.ts';
import { commands } from '../command-table.ts';
import type { Context } from '../context.ts';
import { environment } from '../environment.ts';
import { exitCodes, meanings } from '../exit.ts';

/** `svc help [TOPIC]` */
export async function help(
  { output }: Context,
  { topic: words = [] }: { topic?: string[] },
): Promise<void> {
  const topic = words.join(' ');
  if (topic === 'environment') {
    return output.record({ environment }, Object.entries(environment));
  }
  if (topic === 'exit-codes') {
    const rows = Object.entries(meanings).map(([name, meaning]) => ({
      code: exitCodes[name as keyof typeof exitCodes],
      meaning,
    }));
    return output.table({ exit_codes: rows }, rows, [
      { title: 'code', value: ({ code }) => code },
      { title: 'meaning', value: ({ meaning }) => meaning },
    ]);
  }
  let command = buildProgram(commands, async () => {});
  for (const word of words) {
    const next = command.commands.find((child) => child.name() === word);
    if (next === undefined) {
      throw new SvcError('usage', 'There is no help on that.', {
        hint: 'Topics are the commands, exit-codes and environment.',
      });
    }
    command = next;
  }
  command.outputHelp();
}
