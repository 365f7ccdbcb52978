// `svc robots`: registers, shows, moves and deletes robots.

import { type Field, fieldsNamed } from '../../base/output/fields.ts';
import { shortIds } from '../../base/output/table.ts';
import { SvcError } from '../../base/svc-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { Robot } from '../../protocol/resources.ts';
import type { Answer } from '../../protocol/routes.ts';
import type { Context } from '../context.ts';
import {
  allFleets,
  allRobots,
  confirmName,
  findFleet,
  findRobot,
  pickEach,
  pickOne,
  robotArgument,
} from '../input/find.ts';
import { noteRest, type Range, readPages } from '../output/pages.ts';
import type { CommandSpec } from '../program/command.ts';
import { cursorOption, duplicateOption, limitOption, yesOption } from '../program/options.ts';
import { keyNote, robotKeyCommands } from './robot-keys.ts';
import { robotSigningCommands } from './robot-signing.ts';

const AFTER_DELETION =
  'The service still anchors the evidence that it accepted before, and charges the account. After the deletion, the service no longer verifies these tasks. Existing bundles stay valid.';

export const robotCommands: readonly CommandSpec[] = [
  {
    path: 'robots list',
    summary: 'List the robots, oldest first',
    options: [
      { flags: '--fleet <fleet>', summary: 'only robots of this fleet', completes: 'fleet' },
      { flags: '--no-fleet', summary: 'only robots without a fleet' },
      { ...limitOption, summary: 'maximum number of lines (default: all)', default: undefined },
      cursorOption,
    ],
    examples: ['svc robots list', 'svc robots list --fleet "Hall 3"', 'svc robots list --json'],
    async run(context, { fleet, limit = Number.POSITIVE_INFINITY, ...start }: ListInput) {
      const { call, output, wait } = context;
      // The service does not filter: the limit counts the robots of the fleet.
      const range = { ...start, limit: fleet === undefined ? limit : Number.POSITIVE_INFINITY };
      const [page, fleets] = await wait('Reading robots', () =>
        Promise.all([
          readPages((query) => call('listRobots', { query }), range),
          allFleets(context),
        ]),
      );
      const wanted = fleet ? pickOne('fleet', fleet, fleets).id : null;
      const found = page.items.filter((r) => fleet === undefined || r.fleet_id === wanted);
      const robots = found.slice(0, limit);
      const names = new Map(fleets.map(({ id, name }) => [id, name]));
      const short = shortIds(robots.map(({ id }) => id));
      await output.table({ ...page, items: robots }, robots, [
        { title: 'id', value: ({ id }) => id, shown: ({ id }) => short(id) },
        { title: 'name', value: ({ name }) => name, shrinks: true },
        {
          title: 'fleet',
          value: (robot) => names.get(robot.fleet_id ?? '') ?? null,
          shrinks: true,
        },
        { title: 'state', value: ({ state }) => state, shrinks: true },
        { title: 'battery', value: ({ battery_pct: pct }) => pct, shown: percent },
        { title: 'last seen', value: (robot) => robot.last_seen_at, isTime: true },
      ]);
      if (robots.length === 0) output.note('No robots. Register one with svc robots create NAME.');
      if (robots.length < found.length) output.note('There is more. Raise --limit.');
      noteRest(output, page);
    },
  },
  {
    path: 'robots show',
    summary: 'Show a robot',
    arguments: [robotArgument],
    examples: ['svc robots show hall-robot-1', 'svc robots show 01a1fa88 --json'],
    async run(context, { robot: text }: { robot: string }) {
      const { output } = context;
      const robot = await findRobot(context, text);
      const fleet =
        output.isTerminal && robot.fleet_id !== null
          ? (await findFleet(context, robot.fleet_id)).name
          : robot.fleet_id;
      await output.record({ robot }, fieldsOf(robot, fleet));
    },
  },
  {
    path: 'robots create',
    summary: 'Register a robot; its API key is shown once',
    details:
      'svc prints only the key to standard output, and the id of the robot to standard error.',
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: [
      { flags: '--description <text>', summary: 'at most 2000 characters' },
      { flags: '--fleet <fleet>', summary: 'fleet of the robot', completes: 'fleet' },
      duplicateOption,
    ],
    examples: [
      'svc robots create hall-robot-1',
      'svc robots create hall-robot-1 --fleet "Hall 3" --description "sorts parcels"',
    ],
    async run(context, { name, description, fleet: text, allowDuplicate }: CreateInput) {
      const { call, output } = context;
      if (!allowDuplicate) await confirmName(context, 'robot', name, await allRobots(context));
      const fleet = text === undefined ? null : await findFleet(context, text);
      const { body } = await call('createRobot', {
        body: { name, ...(description !== undefined && { description }) },
      });
      // Print the key before anything else can fail: it is never shown again.
      if (!output.asksJson) output.text(body.api_key ?? '');
      if (fleet !== null) await moveNew(context, body, fleet);
      else if (output.asksJson) output.json(body);
      output.note(`Registered ${output.quote(name)}, ${body.robot.id}.`);
      output.note(keyNote(context, name));
    },
  },
  {
    path: 'robots update',
    summary: 'Change the name or description of a robot',
    arguments: [robotArgument],
    options: [
      { flags: '--name <name>', summary: 'at most 80 characters' },
      { flags: '--description <text>', summary: 'up to 2000 characters; "" for none' },
      duplicateOption,
    ],
    examples: ['svc robots update hall-robot-1 --name hall-robot-2'],
    async run(context, { robot: text, name, description, allowDuplicate }: UpdateInput) {
      if (name === undefined && description === undefined) {
        throw new SvcError('usage', 'Nothing to change. Give --name or --description.');
      }
      const { id } = await findRobot(context, text);
      if (name !== undefined && !allowDuplicate) {
        await confirmName(context, 'robot', name, await allRobots(context), id);
      }
      const { body } = await context.call('patchRobot', {
        params: { id },
        body: {
          ...(name !== undefined && { name }),
          ...(description !== undefined && { description: description || null }),
        },
      });
      await context.output.record(body, fieldsOf(body.robot, body.robot.fleet_id));
    },
  },
  {
    path: 'robots move',
    summary:
      'Move robots into a fleet, or remove robots from their fleets. If an error occurs, svc moves no robot',
    arguments: [{ ...robotArgument, syntax: '<robot...>', member: 'robot_ids' }],
    options: [
      { flags: '--fleet <fleet>', summary: 'fleet to move the robots into', completes: 'fleet' },
      { flags: '--no-fleet', summary: 'remove the robots from their fleets' },
    ],
    examples: [
      'svc robots move hall-robot-1 hall-robot-2 --fleet "Hall 3"',
      'svc robots move hall-robot-1 --no-fleet',
    ],
    async run(context, { robot: texts, fleet: to }: { robot: string[]; fleet?: string | false }) {
      if (to === undefined) {
        throw new SvcError('usage', 'No fleet is named. Give --fleet FLEET or --no-fleet.');
      }
      const most = limits.robotsPerAssignment;
      if (texts.length > most) {
        const message = `svc robots move moves at most ${most} robots at once; ${texts.length} are named.`;
        throw new SvcError('usage', message, { hint: 'Move the others with another command.' });
      }
      const [robots, fleet] = await Promise.all([
        allRobots(context),
        to === false ? null : findFleet(context, to),
      ]);
      const ids = pickEach('robot', texts, robots).map(({ id }) => id);
      const { body } = await context.call('assignRobots', {
        body: { robot_ids: ids, fleet_id: fleet?.id ?? null },
      });
      await context.output.table(body, body.robots, [
        { title: 'id', value: ({ id }) => id },
        { title: 'name', value: ({ name }) => name, shrinks: true },
        { title: 'fleet', value: () => fleet?.name ?? null, shrinks: true },
      ]);
    },
  },
  ...robotKeyCommands,
  ...robotSigningCommands,
  {
    path: 'robots delete',
    summary: 'Delete robots with their tasks, permanently',
    details: `${AFTER_DELETION} If a robot is not found, svc deletes none. With --json, svc prints an answer for each robot.`,
    arguments: [{ ...robotArgument, syntax: '<robot...>' }],
    options: [yesOption],
    examples: ['svc robots delete hall-robot-1', 'svc robots delete 01a1fa88 19ff4938 --yes'],
    async run(context, { robot: texts, yes = false }: { robot: string[]; yes?: boolean }) {
      const { call, output, prompt, wait } = context;
      const robots = pickEach('robot', texts, await allRobots(context));
      const names = robots.map(({ name }) => output.quote(name)).join(', ');
      const consequence = `Deletes ${names} with all tasks, permanently. ${AFTER_DELETION}`;
      const word = robots.length === 1 ? robots[0]?.name : undefined;
      if (!yes) await (await prompt()).confirm(word ?? `${robots.length} robots`, consequence);
      for (const { id, name } of robots) {
        const { body } = await wait('Deleting', () => call('deleteRobot', { params: { id } }));
        output.done(
          { id, ...body },
          `Deleted ${output.quote(name)}. Its key no longer works; stop its agent.`,
        );
      }
    },
  },
];

interface CreateInput {
  name: string;
  description?: string;
  fleet?: string;
  allowDuplicate?: true;
}

interface UpdateInput {
  robot: string;
  name?: string;
  description?: string;
  allowDuplicate?: true;
}

interface ListInput extends Partial<Range> {
  fleet?: string | false;
}

/** Used by every command that prints one robot. */
function fieldsOf(robot: Robot, fleet: string | null): Field[] {
  return [
    ...fieldsNamed(robot, 'id', 'name', 'description'),
    ['fleet', fleet],
    ...fieldsNamed(robot, 'state', 'state_since', 'battery_pct', 'battery_low_since'),
    ...fieldsNamed(robot, 'last_seen_at', 'key_hint'),
    ...fieldsNamed(robot, 'created_at', 'updated_at'),
  ];
}

function percent({ battery_pct: pct }: Robot): string | null {
  return pct === null ? null : `${Math.round(pct)} %`;
}

async function moveNew(
  { call, output }: Context,
  made: Answer<'createRobot'>['body'],
  fleet: { id: string; name: string },
): Promise<void> {
  const { id } = made.robot;
  try {
    const moved = await call('patchRobot', { params: { id }, body: { fleet_id: fleet.id } });
    if (output.asksJson) output.json({ ...made, robot: moved.body.robot });
  } catch (error) {
    if (output.asksJson) output.json(made);
    output.warn(`The robot ${id} was registered, but is not in ${output.quote(fleet.name)}.`);
    throw error;
  }
}
