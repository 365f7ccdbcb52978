// Collects every help text for help.json, which the build writes so that `--help` loads nothing.
import type { Command } from 'commander';
import { groupsFor } from './groups.ts';
import { buildProgram } from './program.ts';

/** What `--help` prints, by the words before it; the help of `svc` itself is under the empty text. */
export async function helpTexts(): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  const add = (command: Command, path: string) => {
    let text = '';
    command.configureOutput({ writeOut: (part) => (text += part) });
    command.outputHelp();
    texts[path] = text;
    for (const child of command.commands) add(child, `${path} ${child.name()}`.trim());
  };
  add(
    buildProgram(await groupsFor([]), async () => {}),
    '',
  );
  return texts;
}
