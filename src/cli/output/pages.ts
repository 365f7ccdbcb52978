// Reads the service's lists, which come in pages.
import type { Output } from './output.ts';

interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

type PageQuery = { limit: string; cursor?: string };

/** Largest page of the service. */
const MAX_PAGE = 200;

/** Reads up to `limit` items of a list from `cursor` on, in as few requests as possible. */
export async function readPages<Item>(
  read: (query: PageQuery) => Promise<{ body: Page<Item> }>,
  { limit: count = Number.POSITIVE_INFINITY, cursor }: { limit?: number; cursor?: string } = {},
): Promise<Page<Item>> {
  const items: Item[] = [];
  let next = cursor ?? null;
  do {
    const limit = String(Math.min(MAX_PAGE, count - items.length));
    const { body } = await read({ limit, ...(next === null ? {} : { cursor: next }) });
    items.push(...body.items);
    next = body.next_cursor;
  } while (next !== null && items.length < count);
  return { items, next_cursor: next };
}

/** Tells a person how to continue a list that was cut. */
export function noteRest(
  output: Output,
  { next_cursor: cursor }: { next_cursor: string | null },
): void {
  if (cursor !== null && output.isTerminal) {
    output.note(`There is more. Raise --limit, or continue with --cursor ${cursor}`);
  }
}
