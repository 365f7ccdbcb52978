import { limits } from '../../protocol/limits.ts';

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/**
 * One page of a list. `limit` is the query's text, already checked; `find` answers up to so many records
 * in order, of which one more than the page tells whether there is a next one.
 */
export async function pageOf<Found, Item>(
  limit: string | undefined,
  find: (count: number) => Promise<Found[]>,
  { cursorOf, view }: { cursorOf: (last: Found) => string; view: (found: Found) => Item },
): Promise<Page<Item>> {
  const size = limit === undefined ? limits.pageSize : Number(limit);
  const found = await find(size + 1);
  const records = found.slice(0, size);
  const last = records.at(-1);
  return {
    items: records.map(view),
    next_cursor: found.length > size && last !== undefined ? cursorOf(last) : null,
  };
}
