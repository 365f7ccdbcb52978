import type { Robot } from '../../protocol/resources.ts';
import type { Context } from '../context.ts';
import { allFleets, allRobots, findFleet, findRobot, pickOne } from '../find-one.ts';
import type { Column, Field } from '../output.ts';
import { shortIds } from '../short-ids.ts';
import { showTime } from '../show-time.ts';

/** `svc robots list` */
export async function listRobots(
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
  if (robots.length === 0) output.note('No robots. svc robots create NAME registers one.');
}

/** `svc robots show ROBOT` */
export async function showRobot(
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

/** The same for every command that answers a robot. */
export function fieldsOf(robot: Robot, fleet: string | null): Field[] {
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
