// `svc fleets`: groups of robots.

import { type Field, fieldsNamed } from '../../base/output/fields.ts';
import type { Column } from '../../base/output/output.ts';
import { shortIds } from '../../base/output/table.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Fleet } from '../../protocol/fleets.ts';
import { allFleets, confirmName, findFleet, fleetArgument, pickEach } from '../input/find.ts';
import type { CommandSpec } from '../program/command.ts';
import { duplicateOption, type OptionSpec, yesOption } from '../program/options.ts';

const texts: readonly OptionSpec[] = [
  { flags: '--description <text>', summary: 'at most 2000 characters' },
  { flags: '--location <text>', summary: 'at most 200 characters' },
  { flags: '--shift <text>', summary: 'at most 200 characters' },
  { flags: '--tag <tag...>', summary: 'at most 20 tags of at most 32 characters', member: 'tags' },
];

interface Texts {
  description?: string;
  location?: string;
  shift?: string;
  allowDuplicate?: true;
}

type CreateInput = Texts & { name: string; tag?: string[] };

interface UpdateInput extends Texts {
  fleet: string;
  name?: string;
  /** False with `--no-tag`. */
  tag?: string[] | false;
}

export const fleetCommands: readonly CommandSpec[] = [
  {
    path: 'fleets list',
    summary: 'List the fleets in display order',
    examples: ['svc fleets list', 'svc fleets list | cut -f2'],
    async run(context) {
      const { output } = context;
      const fleets = await allFleets(context);
      await output.table({ items: fleets, next_cursor: null }, fleets, columnsOf(fleets));
      if (fleets.length === 0) output.note('No fleets. Create one with svc fleets create NAME.');
    },
  },
  {
    path: 'fleets show',
    summary: 'Show a fleet',
    arguments: [fleetArgument],
    examples: ['svc fleets show "Hall 3"'],
    async run(context, { fleet: text }: { fleet: string }) {
      const fleet = await findFleet(context, text);
      await context.output.record({ fleet }, fieldsOf(fleet));
    },
  },
  {
    path: 'fleets create',
    summary: 'Create a fleet, which is then the last one in the display order',
    details: 'svc prints only the id to standard output.',
    arguments: [{ syntax: '<name>', summary: 'at most 80 characters' }],
    options: [...texts, duplicateOption],
    examples: ['svc fleets create "Hall 3" --location Graz --tag night heavy'],
    async run(context, { name, tag, allowDuplicate, ...texts }: CreateInput) {
      const { call, output } = context;
      if (!allowDuplicate) await confirmName(context, 'fleet', name, await allFleets(context));
      const { body } = await call('createFleet', {
        body: { name, ...texts, ...(tag && { tags: tag }) },
      });
      output.done(body, `Created ${output.quote(name)}.`, body.fleet.id);
    },
  },
  {
    path: 'fleets update',
    summary: 'Change a fleet; an empty text removes the value of a field',
    arguments: [fleetArgument],
    options: [
      { flags: '--name <name>', summary: 'at most 80 characters' },
      ...texts,
      { flags: '--no-tag', summary: 'remove all tags' },
      duplicateOption,
    ],
    examples: [
      'svc fleets update "Hall 3" --shift night --tag heavy',
      'svc fleets update "Hall 3" --location ""',
    ],
    async run(context, { fleet: text, name, tag, allowDuplicate, ...texts }: UpdateInput) {
      const cleared = Object.entries(texts).map(([field, value]) => [field, value || null]);
      const changes = {
        ...(name !== undefined && { name }),
        ...Object.fromEntries(cleared),
        ...(tag !== undefined && { tags: tag || [] }),
      };
      if (Object.keys(changes).length === 0) {
        const message =
          'Nothing to change. Give --name, --description, --location, --shift, --tag or --no-tag.';
        throw new SvcError('usage', message);
      }
      const { id } = await findFleet(context, text);
      if (name !== undefined && !allowDuplicate) {
        await confirmName(context, 'fleet', name, await allFleets(context), id);
      }
      const { body } = await context.call('patchFleet', { params: { id }, body: changes });
      await context.output.record(body, fieldsOf(body.fleet));
    },
  },
  {
    path: 'fleets reorder',
    summary: 'Move the named fleets, in this order, to the start of the display order',
    arguments: [{ ...fleetArgument, syntax: '<fleet...>', member: 'order' }],
    examples: ['svc fleets reorder "Hall 3" "Hall 1"'],
    async run(context, { fleet: texts }: { fleet: string[] }) {
      const order = pickEach('fleet', texts, await allFleets(context)).map(({ id }) => id);
      const { body } = await context.call('reorderFleets', { body: { order } });
      await context.output.table(body, body.fleets, columnsOf(body.fleets));
    },
  },
  {
    path: 'fleets delete',
    summary: 'Delete a fleet; its robots stay and have no fleet',
    arguments: [fleetArgument],
    options: [yesOption],
    examples: ['svc fleets delete "Hall 3"', 'svc fleets delete 01a1fa88 --yes'],
    async run(context, { fleet: text, yes = false }: { fleet: string; yes?: boolean }) {
      const { call, output, prompt } = context;
      const { id, name, robot_count: robots } = await findFleet(context, text);
      const consequence = `Deletes the fleet ${output.quote(name)}; its ${robots} robots stay, without a fleet.`;
      if (!yes) await (await prompt()).agree(consequence);
      const { body } = await call('deleteFleet', { params: { id } });
      output.done(body, `Deleted the fleet ${output.quote(name)}; its robots have no fleet now.`);
    },
  },
];

function columnsOf(fleets: readonly Fleet[]): Column<Fleet>[] {
  const short = shortIds(fleets.map(({ id }) => id));
  return [
    { title: 'id', value: ({ id }) => id, shown: ({ id }) => short(id) },
    { title: 'name', value: ({ name }) => name, shrinks: true },
    { title: 'robots', value: (fleet) => fleet.robot_count },
    { title: 'location', value: ({ location }) => location, shrinks: true },
    { title: 'shift', value: ({ shift }) => shift, shrinks: true },
    { title: 'tags', value: ({ tags }) => tags.join(', '), shrinks: true },
  ];
}

function fieldsOf(fleet: Fleet): Field[] {
  return [
    ...fieldsNamed(fleet, 'id', 'name', 'description', 'location', 'shift'),
    ['tags', fleet.tags.join(', ')],
    ['sort_order', fleet.sort_order],
    ['robots', fleet.robot_count],
    ...fieldsNamed(fleet, 'created_at', 'updated_at'),
  ];
}
