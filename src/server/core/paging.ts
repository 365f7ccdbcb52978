// Pages of a list: their filters, cursors sealed so that clients cannot forge them, and items that are JSON already.

import { open, seal } from '../../base/aes-gcm.ts';
import { limits } from '../../protocol/limits.ts';
import { parseTimestamp } from '../../protocol/timestamp.ts';
import type { AccountStore } from '../ports/account.ts';
import { wireError } from '../ports/errors.ts';
import type { TimeRange } from '../ports/telemetry.ts';
import { type Deps, found } from './deps.ts';

/**
 * One page of a list. `limit` is the validated text of the query. `find` returns up to `count` records in order; it is
 * called with one more than the page size, to detect a next page.
 */
export function pageOf<Found, Item>(
  limit: string | undefined,
  find: (count: number) => Promise<Found[]>,
  { cursorOf, view }: { cursorOf: (last: Found) => string; view: (found: Found) => Item },
): Promise<Page<Item>> {
  return filteredPage({ limit, isFiltered: false, find, cursorOf, view });
}

/** As `pageOf`, for a list whose cursor is the id of the last item. */
export function pageById<Found extends { id: string }, Item>(
  { limit, cursor = null }: { limit?: string; cursor?: string | null },
  find: (count: number, cursor: string | null) => Promise<Found[]>,
  view: (found: Found) => Item,
): Promise<Page<Item>> {
  return pageOf(limit, (count) => find(count, cursor), { cursorOf: ({ id }) => id, view });
}

/**
 * Records that one request looks at for a filter that no index serves. Then the page ends, even with few items, and its
 * cursor continues there.
 */
const LOOKED_AT = 1000;
/** Records read at once. */
const CHUNK = 250;

interface FilteredList<Found, Item> {
  limit: string | undefined;
  /** Whether a filter leaves out records, so that more are read than a page has items. */
  isFiltered: boolean;
  /** The records after `last`, newest first; from the place of the cursor if it is null. */
  find(count: number, last: Found | null): Promise<Found[]>;
  keeps?(found: Found): boolean;
  /** Whether this record and all after it are too old. */
  isPast?(found: Found): boolean;
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
      if (list.isPast?.(record)) return { items, next_cursor: null };
      if (items.length === size && last !== null)
        return { items, next_cursor: list.cursorOf(last) };
      if (list.keeps?.(record) ?? true) items.push(list.view(record));
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
  fallback: TimeRange = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER },
): TimeRange {
  const period = { from: instantOf(from) ?? fallback.from, to: instantOf(to) ?? fallback.to };
  if (period.from < period.to) return period;
  throw wireError('invalid_request', 'from must be before to.');
}

/** The place of a cursor `NUMBER_ID`, which the route's schema has validated; null without one. `name`: of the number. */
export function readCursor<Name extends string>(cursor: string | undefined, name: Name) {
  if (cursor === undefined) return null;
  const [number = '', id = ''] = cursor.split('_');
  return { [name]: Number(number), id } as Record<Name, number> & { id: string };
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
  found('fleet', await store.getFleet(fleetId, wallet));
  const robots = await store.listRobots(wallet, limits.robotsPerAccount, null);
  const members = new Set(robots.filter((robot) => robot.fleetId === fleetId).map(({ id }) => id));
  return (robotId) => members.has(robotId);
}

const SEQ_BYTES = 8;

/**
 * Cursors of an account's list that is ordered by a sequence shared by all accounts. They are encrypted, because the
 * sequence reveals how much other accounts write. Format: the sealed sequence number, 36 bytes in base64url.
 */
export async function openCursors(
  store: Pick<AccountStore, 'cursorKey'>,
  list: 'events' | 'ledger',
  wallet: string,
) {
  const key = await store.cursorKey();
  const scope = `${list} ${wallet}`;
  return {
    cursorOf(seq: number): string {
      const place = Buffer.alloc(SEQ_BYTES);
      place.writeBigUInt64BE(BigInt(seq));
      return seal(key, scope, place).toString('base64url');
    },
    /** Null without a cursor. Throws `invalid_request` for a cursor that this list did not issue. */
    seqOf(cursor: string | undefined): number | null {
      if (cursor === undefined) return null;
      try {
        const place = open(key, scope, Buffer.from(cursor, 'base64url'));
        return Number(place.readBigUInt64BE());
      } catch {
        const message = 'cursor must be the next_cursor of a page of this list.';
        throw wireError('invalid_request', message);
      }
    },
  };
}

/**
 * A `Value` that is already serialized. Documents are stored as JSON; parsing hundreds of them only to serialize them
 * again would block the event loop.
 */
export class JsonText<Value> {
  declare readonly value: Value;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export function writtenPage<Item>(page: Page<JsonText<Item>>): JsonText<Page<Item>> {
  const { items, next_cursor } = page;
  const texts = items.map(({ text }) => text).join();
  return new JsonText(`{"items":[${texts}],"next_cursor":${JSON.stringify(next_cursor)}}`);
}

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}
