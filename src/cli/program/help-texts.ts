import type { Command } from 'commander';
import { commands } from './groups.ts';
import { buildProgram } from './program.ts';

/** What `--help` prints, by the words before it: of `svc` itself by none. Made when `svc` is built. */
export function helpTexts(): Record<string, string> {
  const texts: Record<string, string> = {};
  const add = (command: Command, path: string) => {
    let text = '';
    command.configureOutput({ writeOut: (part) => (text += part) });
    command.outputHelp();
    texts[path] = text;
    for (const child of command.commands) add(child, `${path} ${child.name()}`.trim());
  };
  add(
    buildProgram(commands, async () => {}),
    '',
  );
  return texts;
}
