import { setImmediate as nextTurn } from 'node:timers/promises';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface Gathering<Item, Result> {
  /** Does what `items` ask for at once, and answers how each went. What it rejects with is told to all of them. */
  doTogether(items: readonly Item[]): Promise<(item: Item) => Result>;
  /** A group of its own for every call: answers whether an item may join those taken before, and remembers it. */
  startGroup(): (item: Item) => boolean;
}

/** What arrives while one group is under way waits and goes together as the next; nobody waits for more to come. */
export function gather<Item, Result>({
  doTogether,
  startGroup,
}: Gathering<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let busy = false;

  function takeGroup(): Waiting<Item, Result>[] {
    const joins = startGroup();
    const group: Waiting<Item, Result>[] = [];
    const left: Waiting<Item, Result>[] = [];
    for (const one of waiting) (joins(one.item) ? group : left).push(one);
    waiting = left;
    return group;
  }

  async function work(): Promise<void> {
    busy = true;
    // What comes in one turn of the event loop goes together from the first group on.
    await nextTurn();
    while (waiting.length > 0) {
      const group = takeGroup();
      try {
        const resultOf = await doTogether(group.map(({ item }) => item));
        for (const { item, resolve } of group) resolve(resultOf(item));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    busy = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!busy) void work();
    });
}
