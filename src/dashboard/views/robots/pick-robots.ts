import type { Fleet } from '../../../protocol/fleets.ts';
import type { limits } from '../../../protocol/limits.ts';
import type { Robot } from '../../../protocol/resources.ts';

export type Column = 'name' | 'fleet' | 'state' | 'battery' | 'seen';

export interface Sorting {
  by: Column;
  down: boolean;
}

interface Choice {
  search: string;
  /** A fleet's id, `any`, or `none` for robots that are in none. */
  fleetId: string;
  /** A state, or `any`. */
  state: string;
  sorting: Sorting;
  fleets: readonly Fleet[];
}

const ONLINE_MS: typeof limits.onlineMs = 300_000;

/** Whether a robot's readings are of now. */
export function isOnline({ last_seen_at }: Robot, now: number): boolean {
  return last_seen_at !== null && now - Date.parse(last_seen_at) < ONLINE_MS;
}

/** The robots that match, in order; those without the value that orders come last either way. */
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
      const inFleet = fleetId === 'any' || robot.fleet_id === (fleetId === 'none' ? null : fleetId);
      const inState = state === 'any' || robot.state === state;
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
