// `svc robots rotate-key` and `revoke-key`: API keys of robots.
import { findRobot, robotArgument } from '../input/find.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { yesOption } from '../program/options.ts';

export const robotKeyCommands: readonly CommandSpec[] = [
  {
    path: 'robots rotate-key',
    summary: 'Issue a new API key and show it one time; the old key stops working immediately',
    details: 'When piped, prints only the key.',
    arguments: [robotArgument],
    options: [yesOption],
    examples: [
      'svc robots rotate-key hall-robot-1',
      'svc robots rotate-key hall-robot-1 --yes | ssh hall-robot-1 sudo svc-agent key set',
    ],
    run: rotateKey,
  },
  {
    path: 'robots revoke-key',
    summary: 'Revoke the API key of a robot without issuing a new one; its tasks stay',
    arguments: [robotArgument],
    options: [yesOption],
    examples: ['svc robots revoke-key hall-robot-1'],
    run: revokeKey,
  },
];

interface Choice {
  robot: string;
  yes?: boolean;
}

async function rotateKey(context: Context, choice: Choice): Promise<void> {
  const { output } = context;
  const { client, id, name } = await confirmEndOfKey(context, choice, '');
  const { body } = await client.call('rotateKey', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.text(body.api_key);
  noteKey(context, name);
}

async function revokeKey(context: Context, choice: Choice): Promise<void> {
  const { output } = context;
  const { client, id, name } = await confirmEndOfKey(context, choice, ', and no new key is issued');
  const { body } = await client.call('deleteKey', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`${output.quote(name)} has no key now. Issue one with svc robots rotate-key.`);
}

/** `afterwards` completes the sentence of the question. */
async function confirmEndOfKey(
  context: Context,
  { robot: text, yes = false }: Choice,
  afterwards: string,
) {
  const { session, output, prompt } = context;
  const { client } = await session();
  const { id, name } = await findRobot(client, text);
  const consequence = `The current key of ${output.quote(name)} stops working at once${afterwards}.`;
  if (!yes) await (await prompt()).confirm(name, consequence);
  return { client, id, name };
}

/** Prints what to do with a key that was just shown. */
export function noteKey({ output }: Context, name: string): void {
  output.note(
    `The key of ${output.quote(name)} is shown only once.\n` +
      'Pipe it to svc-agent key set on the robot.',
  );
}
