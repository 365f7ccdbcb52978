// Filters and sorts the robots of the table.
import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import type { Robot } from '../../../protocol/resources.ts';

type Column = 'name' | 'fleet' | 'state' | 'battery' | 'seen';

/** In display order. A phone does not show the wide columns. */
export const columns: readonly { column: Column; label: string; isWide: boolean }[] = [
  { column: 'name', label: 'Name', isWide: false },
  { column: 'state', label: 'State', isWide: false },
  { column: 'battery', label: 'Battery', isWide: true },
  { column: 'fleet', label: 'Fleet', isWide: true },
  { column: 'seen', label: 'Last seen', isWide: true },
];

interface Sorting {
  by: Column;
  down: boolean;
}

/** Parses `battery`, or `-battery` for the fullest first. Any other text sorts by name. */
export function sortingFrom(text: string): Sorting {
  const by = columns.find(({ column }) => text.replace(/^-/, '') === column)?.column;
  return by === undefined ? { by: 'name', down: false } : { by, down: text.startsWith('-') };
}

export function sortingText({ by, down }: Sorting): string {
  return `${down ? '-' : ''}${by}`;
}

interface Choice {
  search: string;
  /** A fleet's id, `none` for robots without a fleet, `''` for all. */
  fleetId: string;
  /** `''` is no filter. */
  state: string;
  sorting: Sorting;
  fleets: readonly Fleet[];
}

const ONLINE_MS: typeof limits.onlineMs = 300_000;

/** Whether a robot's readings are current. */
export function isOnline({ last_seen_at }: Robot, now: number): boolean {
  return last_seen_at !== null && now - Date.parse(last_seen_at) < ONLINE_MS;
}

/** The matching robots in order. Robots without the sorted value come last in both directions. */
export function pickRobots(
  robots: readonly Robot[],
  { search, fleetId, state, sorting, fleets }: Choice,
): Robot[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const places = new Map(fleets.map(({ id }, place) => [id, place]));
  const keys: Record<Column, (robot: Robot) => string | number | null> = {
    name: ({ name }) => name.toLowerCase(),
    fleet: ({ fleet_id }) => (fleet_id === null ? null : (places.get(fleet_id) ?? null)),
    state: (robot) => robot.state,
    battery: ({ battery_pct }) => battery_pct,
    seen: ({ last_seen_at }) => last_seen_at,
  };
  const key = keys[sorting.by];
  return robots
    .filter((robot) => {
      const text = `${robot.name} ${robot.description ?? ''}`.toLowerCase();
      const inFleet = fleetId === '' || robot.fleet_id === (fleetId === 'none' ? null : fleetId);
      const inState = state === '' || robot.state === state;
      return inFleet && inState && words.every((word) => text.includes(word));
    })
    .sort((a, b) => inOrder(key(a), key(b), sorting.down));
}

function inOrder(a: string | number | null, b: string | number | null, down: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order =
    typeof a === 'string' && typeof b === 'string'
      ? a.localeCompare(b, 'en', { numeric: true })
      : Number(a) - Number(b);
  return down ? -order : order;
}
