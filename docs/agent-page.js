// Builds docs/agent.md from the commands and the environment of `svc-agent`.

/** Columns that the help texts are wrapped to. */
const WIDTH = 100;

/**
 * @param {import('commander').Command} program with all its commands
 * @param {{ name: string, fallback: string, description: string }[]} variables of the environment
 */
export function agentPage(program, variables) {
  return `${[
    '# Agent commands',
    'Generated from `src/agent/commands/` by `npm run docs`.',
    'After reading this page you can use every command and variable of `svc-agent`. [robots.md](robots.md) explains ' +
      'the installation.',
    'Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 7 daemon or service unreachable, 8 not anchored yet.',
    '## Commands',
    ...leavesOf(program).map(section),
    '## Environment',
    [
      '| variable | default | meaning |',
      '|---|---|---|',
      ...variables.map((one) => `| ${one.name} | ${one.fallback} | ${one.description} |`),
    ].join('\n'),
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
