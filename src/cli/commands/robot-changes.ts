import { SvcError } from '../../base/svc-error.ts';
import { confirmByName } from '../confirm.ts';
import type { Context } from '../context.ts';
import { escapeText } from '../escape-text.ts';
import { allRobots, findFleet, findRobot, pickEach } from '../find-one.ts';
import { noteKey } from './robot-keys.ts';
import { fieldsOf } from './robots.ts';

/** `svc robots create NAME` */
export async function createRobot(
  context: Context,
  input: { name: string; description?: string; fleet?: string },
): Promise<void> {
  const { session, output } = context;
  const { client } = await session();
  const { name, description } = input;
  const fleet = input.fleet === undefined ? null : await findFleet(client, input.fleet);
  const { body } = await client.call('createRobot', {
    body: { name, ...(description !== undefined && { description }) },
  });
  const { id } = body.robot;
  // The key is out before anything else can fail: it is never shown again.
  if (!output.asksJson) {
    const key = escapeText(body.api_key);
    output.line(output.isTerminal ? key : `${escapeText(id)}\t${key}`);
  }
  if (fleet === null) {
    if (output.asksJson) output.json(body);
  } else {
    await moveNew(context, body, { id: fleet.id, name: fleet.name });
  }
  output.note(`Registered ${output.quote(name)}, ${id}.`);
  noteKey(context, name);
}

async function moveNew(
  { session, output }: Context,
  made: { robot: { id: string }; api_key: string },
  fleet: { id: string; name: string },
): Promise<void> {
  const { client } = await session();
  const { id } = made.robot;
  try {
    const moved = await client.call('patchRobot', {
      params: { id },
      body: { fleet_id: fleet.id },
    });
    if (output.asksJson) output.json({ ...made, robot: moved.body.robot });
  } catch (error) {
    if (output.asksJson) output.json(made);
    output.warn(`The robot was registered, ${id}, and is not in ${output.quote(fleet.name)}.`);
    throw error;
  }
}

/** `svc robots update ROBOT` */
export async function updateRobot(
  { session, output }: Context,
  { robot: text, name, description }: { robot: string; name?: string; description?: string },
): Promise<void> {
  if (name === undefined && description === undefined) {
    throw new SvcError('usage', 'Nothing to change: give --name or --description.');
  }
  const { client } = await session();
  const { id } = await findRobot(client, text);
  const { body } = await client.call('patchRobot', {
    params: { id },
    body: {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description: description || null }),
    },
  });
  await output.record(body, fieldsOf(body.robot, body.robot.fleet_id));
}

/** `svc robots move ROBOT…` */
export async function moveRobots(
  { session, output }: Context,
  { robot: texts, fleet: to }: { robot: string[]; fleet?: string | false },
): Promise<void> {
  if (to === undefined) throw new SvcError('usage', 'Where to? Give --fleet FLEET or --no-fleet.');
  const { client } = await session();
  const [robots, fleet] = await Promise.all([
    allRobots(client),
    to === false ? null : findFleet(client, to),
  ]);
  const ids = pickEach('robot', texts, robots).map(({ id }) => id);
  const { body } = await client.call('assignRobots', {
    body: { robot_ids: ids, fleet_id: fleet?.id ?? null },
  });
  const columns = [
    { title: 'id', value: ({ id }: { id: string }) => id },
    { title: 'name', value: ({ name }: { name: string }) => name, shrinks: true as const },
    { title: 'fleet', value: () => fleet?.name ?? null, shrinks: true as const },
  ];
  await output.table(body, body.robots, columns);
}

/** `svc robots delete ROBOT` */
export async function deleteRobot(
  context: Context,
  { robot: text, yes = false }: { robot: string; yes?: boolean },
): Promise<void> {
  const { session, output, wait } = context;
  const { client } = await session();
  const { id, name } = await findRobot(client, text);
  const consequence =
    `Deletes ${output.quote(name)} with its tasks, at once and for good. What waits to be signed is cancelled;\n` +
    'what is signed is anchored and charged. Public verification of its tasks ends; bundles stay valid.';
  await confirmByName(context, { yes, name, consequence });
  const { body } = await wait('Deleting', () => client.call('deleteRobot', { params: { id } }));
  if (output.asksJson) return output.json(body);
  output.note(`Deleted ${output.quote(name)}. Its key works no more; stop its agent.`);
}
