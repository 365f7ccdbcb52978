// `svc robots rotate-key` and `revoke-key`: API keys of robots.
import { findRobot, robotArgument } from '../input/find.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { yesOption } from '../program/options.ts';

export const robotKeyCommands: readonly CommandSpec[] = [
  {
    path: 'robots rotate-key',
    summary: 'Give a robot a new API key, shown once; the old one ends at once',
    details: 'Piped, it prints the key and a newline, and nothing else.',
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
    summary: 'End the API key of a robot at once, with none in its place; its tasks stay',
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
  const { client, id, name } = await confirmEndOfKey(context, choice, ', and none takes its place');
  const { body } = await client.call('deleteKey', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`${output.quote(name)} has no key now; svc robots rotate-key gives it one.`);
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
  const consequence = `The key that ${output.quote(name)} uses now stops working at once${afterwards}.`;
  if (!yes) await (await prompt()).confirm(name, consequence);
  return { client, id, name };
}

/** Tells what to do with a key that was just shown. */
export function noteKey({ output }: Context, name: string): void {
  output.note(
    `This is the only time that the key of ${output.quote(name)} is shown.\n` +
      'Hand it to its agent, on standard input: svc-agent key set',
  );
}
