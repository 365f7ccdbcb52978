import fc from 'fast-check';
import { expect, it } from 'vitest';
import { filteredPage } from '../../src/server/core/paging.ts';

/** A list of numbers, newest (largest) first, of which a filter keeps every `every`-th. */
function pages(records: number, every: number, limit: number, oldest: number) {
  let looked = 0;
  const read = (cursor: number) =>
    filteredPage<number, number>({
      limit: String(limit),
      isFiltered: every > 1,
      find: async (count, last) => {
        const from = last ?? cursor;
        const found = Array.from({ length: count }, (_, i) => from - 1 - i).filter((n) => n >= 0);
        looked += found.length;
        return found;
      },
      keeps: (number) => number % every === 0,
      isPast: (number) => number < oldest,
      cursorOf: String,
      view: (number) => number,
    });
  return async () => {
    const items: number[] = [];
    let longest = 0;
    for (let cursor: string | null = String(records); cursor !== null; ) {
      looked = 0;
      const page: Awaited<ReturnType<typeof read>> = await read(Number(cursor));
      expect(page.items.length).toBeLessThanOrEqual(limit);
      items.push(...page.items);
      longest = Math.max(longest, looked);
      cursor = page.next_cursor;
    }
    return { items, longest };
  };
}

it('lists each matching record once, whatever the page size', async () => {
  const sizes = fc.record({
    records: fc.integer({ min: 0, max: 2500 }),
    every: fc.integer({ min: 1, max: 900 }),
    limit: fc.integer({ min: 1, max: 200 }),
    oldest: fc.integer({ min: 0, max: 500 }),
  });
  await fc.assert(
    fc.asyncProperty(sizes, async ({ records, every, limit, oldest }) => {
      const { items } = await pages(records, every, limit, oldest)();
      const kept = Array.from({ length: records }, (_, i) => records - 1 - i).filter(
        (number) => number % every === 0 && number >= oldest,
      );
      expect(items).toEqual(kept);
    }),
    { numRuns: 60 },
  );
});

it('ends a page after 1000 records, even without an item', async () => {
  const { items, longest } = await pages(5000, 10_000, 50, 0)();
  expect(items).toEqual([0]);
  // Four reads of 250 records, each with one more that shows whether the list goes on.
  expect(longest).toBe(4 * 251);
});
