// Builds docs/agent.md from the commands and the environment of `svc-agent`.

/** Columns that the help texts are wrapped to. */
const WIDTH = 100;

/**
 * @param {import('commander').Command} program with all its commands
 * @param {string} variables table of the environment
 */
export function agentPage(program, variables) {
  return `${[
    '# The agent’s commands',
    'Made from `src/agent/commands/` by `npm run docs`. [robots.md](robots.md) tells how to begin.',
    'Exit codes: 0 done, 1 failed, 2 usage or configuration, 7 the daemon or the service cannot be reached, 8 not ' +
      'there yet.',
    '## Commands',
    ...leavesOf(program).map(section),
    '## Environment',
    variables,
  ].join('\n\n')}\n`;
}

/**
 * @param {import('commander').Command} command
 * @returns {import('commander').Command[]} the commands below it that have none below them
 */
function leavesOf(command) {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

/** @param {import('commander').Command} command */
function section(command) {
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

/**
 * @param {import('commander').Command} command
 * @returns {string} its name after those of the commands above it
 */
function nameOf(command) {
  const { parent } = command;
  return parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
