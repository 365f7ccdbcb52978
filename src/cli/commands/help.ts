// `svc help`: help for commands, exit codes and variables.

import { SvcError } from '../../base/svc-error.ts';
import { nearestName } from '../../protocol/nearest-name.ts';
import type { CommandGroup, CommandSpec } from '../program/command.ts';
import { exitCodes, meanings } from '../program/exit-codes.ts';
import { buildProgram } from '../program/program.ts';

const topics = ['exit-codes', 'environment'];

type GroupsFor = (words: readonly string[]) => Promise<readonly CommandGroup[]>;

/** The table of groups, which loads this file, passes `groupsFor` in. */
export function helpCommand(groupsFor: GroupsFor): CommandSpec {
  return {
    path: 'help',
    summary: 'Print help for a command, exit-codes or environment',
    arguments: [
      { syntax: '[topic...]', summary: 'command, exit-codes or environment', completes: topics },
    ],
    examples: ['svc help exit-codes', 'svc help robots move'],
    async run({ output }, { topic: words = [] }: { topic?: string[] }) {
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
      let command = buildProgram(await groupsFor(words), async () => {});
      for (const word of words) {
        const next = command.commands.find((child) => child.name() === word);
        if (next === undefined) {
          const names = [...command.commands.map((child) => child.name()), ...topics];
          const meant = nearestName(word, names);
          throw new SvcError('usage', `There is no help topic ${topic}.`, {
            hint: meant ? `Did you mean ${meant}?` : 'Choose a command, exit-codes or environment.',
          });
        }
        command = next;
      }
      command.outputHelp();
    },
  };
}

/** Variables that `svc` reads. */
export const environment: Readonly<Record<string, string>> = {
  SVC_URL: 'origin of the service, if --url is not given',
  SVC_PROFILE: 'profile to use, if --profile is not given',
  SVC_TOKEN: 'account token to use in place of the session (svc tokens create)',
  SVC_CONFIG_DIR: 'folder for profiles, sessions and saved lists of anchoring accounts',
  NO_COLOR: 'disables colors, if not empty',
  FORCE_COLOR: 'enables colors even without a terminal; 0 or false disables colors',
};
