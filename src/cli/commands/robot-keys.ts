import { findRobot } from '../input/find.ts';
import { confirmByName } from '../input/prompt.ts';
import type { Context } from '../program/context.ts';

interface Choice {
  robot: string;
  yes?: boolean;
}

/** `svc robots rotate-key ROBOT` */
export async function rotateKey(context: Context, choice: Choice): Promise<void> {
  const { output } = context;
  const { client, id, name } = await confirmEndOfKey(context, choice, '');
  const { body } = await client.call('rotateKey', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.text(body.api_key);
  noteKey(context, name);
}

/** `svc robots revoke-key ROBOT` */
export async function revokeKey(context: Context, choice: Choice): Promise<void> {
  const { output } = context;
  const { client, id, name } = await confirmEndOfKey(context, choice, ', and none takes its place');
  const { body } = await client.call('deleteKey', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`${output.quote(name)} has no key now; svc robots rotate-key gives it one.`);
}

/** `afterwards` ends the sentence that asks. */
async function confirmEndOfKey(
  context: Context,
  { robot: text, yes = false }: Choice,
  afterwards: string,
) {
  const { session, output } = context;
  const { client } = await session();
  const { id, name } = await findRobot(client, text);
  const consequence = `The key that ${output.quote(name)} uses now stops working at once${afterwards}.`;
  await confirmByName(context, { yes, name, consequence });
  return { client, id, name };
}

/** What to do with a key that was just shown. */
export function noteKey({ output }: Context, name: string): void {
  output.note(
    `This is the only time that the key of ${output.quote(name)} is shown.\n` +
      'Hand it to its agent, on standard input: svc-agent key set',
  );
}
