// Reads the service's lists, which come in pages.
import type { Column, Output } from '../../base/output/output.ts';

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** The query of one page. */
export type PageQuery = { limit: string; cursor?: string };

/** The part of a list that a command line names: `limitOption`, `cursorOption`. */
export type Range = { limit: number; cursor?: string };

/** Largest page of the service. */
const MAX_PAGE = 200;

/** Reads up to `limit` items of a list from `cursor` on, in as few requests as possible. */
export async function readPages<Item>(
  read: (query: PageQuery) => Promise<{ body: Page<Item> }>,
  { limit: count = Number.POSITIVE_INFINITY, cursor }: Partial<Range> = {},
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

/** Prints a list, read as `readPages` does, and how to continue it. */
export async function printPages<Item>(
  output: Output,
  read: (query: PageQuery) => Promise<{ body: Page<Item> }>,
  columns: readonly Column<Item>[],
  range: Range,
): Promise<void> {
  const page = await readPages(read, range);
  await output.table(page, page.items, columns);
  noteRest(output, page);
}

/** Tells a person how to continue a list that was cut. */
export function noteRest(output: Output, { next_cursor: cursor }: Page<unknown>): void {
  if (cursor !== null && output.isTerminal) {
    output.note(`There is more. Raise --limit, or continue with --cursor ${cursor}`);
  }
}
