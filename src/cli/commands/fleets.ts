import { SvcError } from '../../base/svc-error.ts';
import type { Fleet } from '../../protocol/fleets.ts';
import { allFleets, findFleet, pickEach } from '../input/find.ts';
import { confirmByName } from '../input/prompt.ts';
import type { Column, Field } from '../output/output.ts';
import { shortIds } from '../output/table.ts';
import type { Context } from '../program/context.ts';

interface Texts {
  description?: string;
  location?: string;
  shift?: string;
}

/** `svc fleets list` */
export async function listFleets({ session, output }: Context): Promise<void> {
  const { client } = await session();
  const fleets = await allFleets(client);
  await output.table({ items: fleets, next_cursor: null }, fleets, columnsOf(fleets));
  if (fleets.length === 0) output.note('No fleets. svc fleets create NAME makes one.');
}

/** `svc fleets show FLEET` */
export async function showFleet(
  { session, output }: Context,
  { fleet: text }: { fleet: string },
): Promise<void> {
  const { client } = await session();
  const fleet = await findFleet(client, text);
  await output.record({ fleet }, fieldsOf(fleet));
}

/** `svc fleets create NAME` */
export async function createFleet(
  { session, output }: Context,
  { name, tag, ...texts }: Texts & { name: string; tag?: string[] },
): Promise<void> {
  const { client } = await session();
  const { body } = await client.call('createFleet', {
    body: { name, ...texts, ...(tag && { tags: tag }) },
  });
  if (output.asksJson) return output.json(body);
  output.text(body.fleet.id);
  output.note(`Made ${output.quote(name)}.`);
}

/** `svc fleets update FLEET` */
export async function updateFleet(
  { session, output }: Context,
  input: Texts & { fleet: string; name?: string; tag?: string[] | false },
): Promise<void> {
  const { fleet: text, name, tag, ...texts } = input;
  const changes = {
    ...(name !== undefined && { name }),
    ...Object.fromEntries(Object.entries(texts).map(([field, value]) => [field, value || null])),
    ...(tag !== undefined && { tags: tag || [] }),
  };
  if (Object.keys(changes).length === 0) {
    throw new SvcError('usage', 'Nothing to change: give --name, --description, --tag …');
  }
  const { client } = await session();
  const { id } = await findFleet(client, text);
  const { body } = await client.call('patchFleet', { params: { id }, body: changes });
  await output.record(body, fieldsOf(body.fleet));
}

/** `svc fleets reorder FLEET…` */
export async function reorderFleets(
  { session, output }: Context,
  { fleet: texts }: { fleet: string[] },
): Promise<void> {
  const { client } = await session();
  const order = pickEach('fleet', texts, await allFleets(client)).map(({ id }) => id);
  const { body } = await client.call('reorderFleets', { body: { order } });
  await output.table(body, body.fleets, columnsOf(body.fleets));
}

/** `svc fleets delete FLEET` */
export async function deleteFleet(
  context: Context,
  { fleet: text, yes = false }: { fleet: string; yes?: boolean },
): Promise<void> {
  const { session, output } = context;
  const { client } = await session();
  const { id, name, robot_count: robots } = await findFleet(client, text);
  const consequence = `Deletes the fleet ${output.quote(name)}; its ${robots} robots stay, in no fleet.`;
  await confirmByName(context, { yes, name, consequence });
  const { body } = await client.call('deleteFleet', { params: { id } });
  if (output.asksJson) return output.json(body);
  output.note(`Deleted the fleet ${output.quote(name)}; its robots are in no fleet now.`);
}

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
    ['id', fleet.id],
    ['name', fleet.name],
    ['description', fleet.description],
    ['location', fleet.location],
    ['shift', fleet.shift],
    ['tags', fleet.tags.join(', ')],
    ['sort_order', fleet.sort_order],
    ['robots', fleet.robot_count],
    ['created_at', fleet.created_at],
    ['updated_at', fleet.updated_at],
  ];
}
