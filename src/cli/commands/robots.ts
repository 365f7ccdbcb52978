// `svc robots`: registers, shows, moves and deletes robots.
import { SvcError } from '../../base/svc-error.ts';
import type { Robot } from '../../protocol/resources.ts';
import type { Answer } from '../../protocol/routes.ts';
import {
  allFleets,
  allRobots,
  findFleet,
  findRobot,
  pickEach,
  pickOne,
  robotArgument,
} from '../input/find.ts';
import type { Column, Field } from '../output/output.ts';
import { shortIds, showTime } from '../output/table.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';
import { yesOption } from '../program/options.ts';
import { noteKey, robotKeyCommands } from './robot-keys.ts';

export const robotCommands: readonly CommandSpec[] = [
  {
    path: 'robots list',
    summary: 'List the robots, oldest first',
    options: [
      { flags: '--fleet <fleet>', summary: 'only robots of this fleet', completes: 'fleet' },
      { flags: '--no-fleet', summary: 'only robots without a fleet' },
    ],
    examples: ['svc robots list', 'svc robots list --fleet "Hall 3"', 'svc robots list --json'],
    run: listRobots,
  },
  {
    path: 'robots show',
    summary: 'Show a robot',
    arguments: [robotArgument],
    examples: ['svc robots show hall-robot-1', 'svc robots show 01a1fa88 --json'],
    run: showRobot,
  },
  {
    path: 'robots create',
    summary: 'Register a robot; its API key is shown once',
    details: 'When piped, prints only the key; the id goes to standard error.',
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: [
      { flags: '--description <text>', summary: 'at most 2000 characters' },
      { flags: '--fleet <fleet>', summary: 'fleet of the robot', completes: 'fleet' },
    ],
    examples: [
      'svc robots create hall-robot-1',
      'svc robots create hall-robot-1 --fleet "Hall 3" --description "sorts parcels"',
    ],
    run: createRobot,
  },
  {
    path: 'robots update',
    summary: 'Change the name or description of a robot',
    arguments: [robotArgument],
    options: [
      { flags: '--name <name>', summary: 'at most 80 characters' },
      { flags: '--description <text>', summary: 'at most 2000 characters; "" clears it' },
    ],
    examples: ['svc robots update hall-robot-1 --name hall-robot-2'],
    run: updateRobot,
  },
  {
    path: 'robots move',
    summary: 'Move robots into a fleet, or out of their fleets; all of them or none',
    arguments: [{ ...robotArgument, syntax: '<robot...>' }],
    options: [
      { flags: '--fleet <fleet>', summary: 'fleet to move them into', completes: 'fleet' },
      { flags: '--no-fleet', summary: 'remove them from their fleets' },
    ],
    examples: [
      'svc robots move hall-robot-1 hall-robot-2 --fleet "Hall 3"',
      'svc robots move hall-robot-1 --no-fleet',
    ],
    run: moveRobots,
  },
  ...robotKeyCommands,
  {
    path: 'robots delete',
    summary: 'Delete a robot with its tasks, permanently',
    details:
      'Anchors that are not signed yet are canceled. Signed ones are still sent and charged. The service no longer\n' +
      'verifies the tasks. Bundles stay valid.',
    arguments: [robotArgument],
    options: [yesOption],
    examples: ['svc robots delete hall-robot-1', 'svc robots delete 01a1fa88 --yes'],
    run: deleteRobot,
  },
];

async function listRobots(
  { session, output, wait }: Context,
  { fleet }: { fleet?: string | false },
): Promise<void> {
  const { client } = await session();
  const [all, fleets] = await wait('Reading robots', () =>
    Promise.all([allRobots(client), allFleets(client)]),
  );
  const wanted = fleet ? pickOne('fleet', fleet, fleets).id : null;
  const robots = fleet === undefined ? all : all.filter(({ fleet_id }) => fleet_id === wanted);
  const names = new Map(fleets.map(({ id, name }) => [id, name]));
  const short = shortIds(robots.map(({ id }) => id));
  const columns: Column<Robot>[] = [
    { title: 'id', value: ({ id }) => id, shown: ({ id }) => short(id) },
    { title: 'name', value: ({ name }) => name, shrinks: true },
    { title: 'fleet', value: (robot) => names.get(robot.fleet_id ?? '') ?? null, shrinks: true },
    { title: 'state', value: ({ state }) => state, shrinks: true },
    { title: 'battery', value: ({ battery_pct: pct }) => pct, shown: percent },
    {
      title: 'last seen',
      value: (robot) => robot.last_seen_at,
      shown: (robot) => showTime(robot.last_seen_at),
    },
  ];
  await output.table({ items: robots, next_cursor: null }, robots, columns);
  if (robots.length === 0) output.note('No robots. Register one with svc robots create NAME.');
}

async function showRobot(
  { session, output }: Context,
  { robot: text }: { robot: string },
): Promise<void> {
  const { client } = await session();
  const robot = await findRobot(client, text);
  const fleet =
    output.isTerminal && robot.fleet_id !== null
      ? (await findFleet(client, robot.fleet_id)).name
      : robot.fleet_id;
  await output.record({ robot }, fieldsOf(robot, fleet));
}

/** Used by every command that prints one robot. */
function fieldsOf(robot: Robot, fleet: string | null): Field[] {
  return [
    ['id', robot.id],
    ['name', robot.name],
    ['description', robot.description],
    ['fleet', fleet],
    ['state', robot.state],
    ['battery_pct', robot.battery_pct],
    ['last_seen_at', robot.last_seen_at],
    ['key_hint', robot.key_hint],
    ['created_at', robot.created_at],
    ['updated_at', robot.updated_at],
  ];
}

function percent({ battery_pct: pct }: Robot): string | null {
  return pct === null ? null : `${Math.round(pct)} %`;
}

async function createRobot(
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
  // Print the key before anything else can fail: it is never shown again.
  if (!output.asksJson) {
    output.text(body.api_key ?? '');
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
  made: Answer<'createRobot'>['body'],
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
    output.warn(`The robot ${id} was registered, but is not in ${output.quote(fleet.name)}.`);
    throw error;
  }
}

async function updateRobot(
  { session, output }: Context,
  { robot: text, name, description }: { robot: string; name?: string; description?: string },
): Promise<void> {
  if (name === undefined && description === undefined) {
    throw new SvcError('usage', 'Nothing to change. Give --name or --description.');
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

async function moveRobots(
  { session, output }: Context,
  { robot: texts, fleet: to }: { robot: string[]; fleet?: string | false },
): Promise<void> {
  if (to === undefined)
    throw new SvcError('usage', 'No fleet is named. Give --fleet FLEET or --no-fleet.');
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

async function deleteRobot(
  context: Context,
  { robot: text, yes = false }: { robot: string; yes?: boolean },
): Promise<void> {
  const { session, output, prompt, wait } = context;
  const { client } = await session();
  const { id, name } = await findRobot(client, text);
  const consequence =
    `Deletes ${output.quote(name)} with its tasks, permanently. Anchors that are not signed yet are\n` +
    'canceled. Signed ones are still sent and charged. The service no longer verifies the tasks. Bundles stay valid.';
  if (!yes) await (await prompt()).confirm(name, consequence);
  const { body } = await wait('Deleting', () => client.call('deleteRobot', { params: { id } }));
  if (output.asksJson) return output.json(body);
  output.note(`Deleted ${output.quote(name)}. Its key no longer works; stop its agent.`);
}
