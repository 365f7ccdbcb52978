// Filters of lists that no index serves: they are applied to the records read, within a bounded amount of work.
import { limits } from '../../protocol/limits.ts';
import { parseTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { Page } from '../ports/json-text.ts';
import { type Deps, noSuch } from './deps.ts';

/** Records that one request looks at. Then the page ends, even with few items, and its cursor continues there. */
const LOOKED_AT = 1000;
/** Records read at once. */
const CHUNK = 250;

/** An instant `from` and one `to`, which is excluded. */
export interface Period {
  from: number;
  to: number;
}

interface FilteredList<Found, Item> {
  limit: string | undefined;
  /** Whether a filter leaves out records, so that more are read than a page has items. */
  isFiltered: boolean;
  /** The records after `last`, newest first; from the place of the cursor if it is null. */
  find(count: number, last: Found | null): Promise<Found[]>;
  keeps(found: Found): boolean;
  /** Whether this record and all after it are too old. */
  isPast(found: Found): boolean;
  cursorOf(last: Found): string;
  view(found: Found): Item;
}

/** One page of a list, newest first. With a filter it may have fewer items than asked for, and still a cursor. */
export async function filteredPage<Found, Item>(
  list: FilteredList<Found, Item>,
): Promise<Page<Item>> {
  const size = list.limit === undefined ? limits.pageSize : Number(list.limit);
  const chunk = list.isFiltered ? Math.max(CHUNK, size) : size;
  const items: Item[] = [];
  let last: Found | null = null;
  for (let lookedAt = 0; ; ) {
    const records: Found[] = await list.find(chunk + 1, last);
    for (const record of records.slice(0, chunk)) {
      if (list.isPast(record)) return { items, next_cursor: null };
      if (items.length === size && last !== null)
        return { items, next_cursor: list.cursorOf(last) };
      if (list.keeps(record)) items.push(list.view(record));
      last = record;
    }
    lookedAt += chunk;
    if (records.length <= chunk || last === null) return { items, next_cursor: null };
    if (items.length === size || lookedAt >= LOOKED_AT) {
      return { items, next_cursor: list.cursorOf(last) };
    }
  }
}

/** The period of a query; `fallback` has the ends that it leaves out. Throws `invalid_request` if it is empty. */
export function periodOf(
  { from, to }: { from?: string; to?: string },
  fallback: Period = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER },
): Period {
  const period = { from: instantOf(from) ?? fallback.from, to: instantOf(to) ?? fallback.to };
  if (period.from < period.to) return period;
  throw wireError('invalid_request', 'from must be before to.');
}

export function instantOf(text: string | undefined): number | null {
  return text === undefined ? null : parseTimestamp(text);
}

/** Whether a robot is in the fleet; any robot is without a fleet. Throws `not_found` for a fleet of another account. */
export async function fleetMembers(
  { store }: Pick<Deps, 'store'>,
  wallet: string,
  fleetId: string | undefined,
): Promise<(robotId: string) => boolean> {
  if (fleetId === undefined) return () => true;
  if ((await store.getFleet(fleetId, wallet)) === null) {
    throw noSuch('fleet');
  }
  const robots = await store.listRobots(wallet, limits.robotsPerAccount, null);
  const members = new Set(robots.filter((robot) => robot.fleetId === fleetId).map(({ id }) => id));
  return (robotId) => members.has(robotId);
}
