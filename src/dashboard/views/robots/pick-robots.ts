// Filters and sorts the robots of the table.
import type { Fleet } from '../../../protocol/fleets.ts';
import type { Robot } from '../../../protocol/resources.ts';
import { rankOf, stateOf } from '../../ui/badge.tsx';

const columns = ['name', 'state', 'battery', 'fleet', 'seen'] as const;
type Column = (typeof columns)[number];

export interface Sorting {
  by: Column;
  down: boolean;
}

/** Parses `battery`, or `-battery` for the fullest first. Any other text sorts by name. */
export function sortingFrom(text: string): Sorting {
  const by = columns.find((column) => text.replace(/^-/, '') === column);
  return by === undefined ? { by: 'name', down: false } : { by, down: text.startsWith('-') };
}

interface Choice {
  search: string;
  /** A fleet's id, `none` for robots without a fleet, `''` for all. */
  fleetId: string;
  /** `none` for robots without a state, `''` is no filter. */
  state: string;
  /** Tens of percent, as the overview counts them, `none` for unknown, `''` is no filter. */
  battery: string;
  sorting: Sorting;
  fleets: readonly Fleet[];
  now: number;
}

/** The matching robots in order. Robots without the sorted value come last in both directions. */
export function pickRobots(
  robots: readonly Robot[],
  { search, fleetId, state, battery, sorting, fleets, now }: Choice,
): Robot[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const places = new Map(fleets.map(({ id }, place) => [id, place]));
  const keys: Record<Column, (robot: Robot) => string | number | null> = {
    name: ({ name }) => name.toLowerCase(),
    fleet: ({ fleet_id }) => (fleet_id === null ? null : (places.get(fleet_id) ?? null)),
    state: (robot) => {
      const state = stateOf(robot, now);
      return state && `${rankOf(state)} ${state}`;
    },
    battery: ({ battery_pct }) => battery_pct,
    seen: ({ last_seen_at }) => last_seen_at,
  };
  const key = keys[sorting.by];
  return robots
    .filter((robot) => {
      const text = `${robot.name} ${robot.description ?? ''}`.toLowerCase();
      return (
        (fleetId === '' || (robot.fleet_id ?? 'none') === fleetId) &&
        (state === '' || (stateOf(robot, now) ?? 'none') === state) &&
        (battery === '' || tensOf(robot) === battery) &&
        words.every((word) => text.includes(word))
      );
    })
    .sort((a, b) => inOrder(key(a), key(b), sorting.down));
}

function tensOf({ battery_pct: percent }: Robot): string {
  return percent === null ? 'none' : String(Math.min(9, Math.floor(percent / 10)));
}

const names = new Intl.Collator('en', { numeric: true });

function inOrder(a: string | number | null, b: string | number | null, down: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order =
    typeof a === 'string' && typeof b === 'string' ? names.compare(a, b) : Number(a) - Number(b);
  return down ? -order : order;
}
