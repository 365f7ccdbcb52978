import type { Command } from 'commander';
import { agentVariablesTable } from './config.ts';
import { createProgram } from './main.ts';

/** Columns that the commands' help is set in. */
const WIDTH = 100;

/** docs/agent.md, from what the commands say of themselves. */
export function agentPage(): string {
  const program = createProgram(() => {});
  return `${[
    '# The agent’s commands',
    'Made from `src/agent/commands.ts` by `npm run docs`. [robots.md](robots.md) tells how to begin.',
    'Exit codes: 0 done, 1 failed, 2 usage or configuration, 7 the daemon or the service cannot be reached, 8 not ' +
      'there yet.',
    '## Commands',
    ...leavesOf(program).map(section),
    '## Environment',
    agentVariablesTable(),
  ].join('\n\n')}\n`;
}

function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

function section(command: Command): string {
  let help = '';
  command.configureOutput({
    writeOut: (text) => {
      help += text;
    },
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return `### ${nameOf(command)}\n\n\`\`\`text\n${help.trim()}\n\`\`\``;
}

function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
