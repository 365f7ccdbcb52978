// Builds docs/agent.md from the commands and the environment of `svc-agent`.

/**
 * @param {import('commander').Command} program with all its commands
 * @param {{ name: string, fallback: string, description: string }[]} variables of the environment
 */
export function agentPage(program, variables) {
  return `${[
    '# Agent commands',
    'Generated from `src/agent/commands/` by `npm run docs`. `svc-agent COMMAND --help` explains the arguments and options of a command. [robots.md](robots.md) explains the installation.',
    'Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 7 daemon or service unreachable, 8 not anchored yet.',
    '## Commands',
    leavesOf(program)
      .map((command) => `- \`${usageOf(command)}\`: ${command.description()}`)
      .join('\n'),
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
function usageOf(command) {
  const args = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  return [nameOf(command), ...args].join(' ');
}

/**
 * @param {import('commander').Command} command
 * @returns {string} its name after those of the commands above it
 */
function nameOf(command) {
  const { parent } = command;
  return parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}
