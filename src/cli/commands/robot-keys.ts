// `svc robots rotate-key` and `revoke-key`: API keys of robots.

import type { Context } from '../context.ts';
import { findRobot, robotArgument } from '../input/find.ts';
import type { CommandSpec } from '../program/command.ts';
import { yesOption } from '../program/options.ts';

export const robotKeyCommands: readonly CommandSpec[] = [
  {
    path: 'robots rotate-key',
    summary: 'Issue a new API key and show it one time; the old key stops working immediately',
    details:
      'svc prints only the key to standard output. An agent that runs as a systemd service uses the new key after you store the key with svc-agent key set and restart the agent.',
    arguments: [robotArgument],
    options: [yesOption],
    examples: [
      'svc robots rotate-key hall-robot-1',
      "svc robots rotate-key hall-robot-1 --yes | ssh hall-robot-1 'sudo svc-agent key set && sudo systemctl restart svc-agent'",
    ],
    async run(context, choice: Choice) {
      const { id, name } = await confirmEndOfKey(context, choice, '');
      const { body } = await context.call('rotateKey', { params: { id } });
      context.output.done(body, keyNote(context, name), body.api_key);
    },
  },
  {
    path: 'robots revoke-key',
    summary: "Revoke the API key of a robot without issuing a new key; the robot's tasks stay",
    arguments: [robotArgument],
    options: [yesOption],
    examples: ['svc robots revoke-key hall-robot-1'],
    async run(context, choice: Choice) {
      const { call, output } = context;
      const { id, name } = await confirmEndOfKey(context, choice, ', and no new key is issued');
      const { body } = await call('deleteKey', { params: { id } });
      output.done(
        body,
        `${output.quote(name)} has no key now. Issue one with svc robots rotate-key.`,
      );
    },
  },
];

interface Choice {
  robot: string;
  yes?: boolean;
}

/** `afterwards` completes the sentence of the question. */
async function confirmEndOfKey(
  context: Context,
  { robot: text, yes = false }: Choice,
  afterwards: string,
) {
  const { output, prompt } = context;
  const { id, name } = await findRobot(context, text);
  const consequence = `The current key of ${output.quote(name)} stops working at once${afterwards}.`;
  if (!yes) await (await prompt()).confirm(name, consequence);
  return { id, name };
}

/** What to do with a key that is shown. */
export function keyNote({ output }: Context, name: string): string {
  return `The key of ${output.quote(name)} is shown only once.\nPipe it to svc-agent key set on the robot.`;
}
