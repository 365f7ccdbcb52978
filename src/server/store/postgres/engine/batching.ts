import { setImmediate as nextTurn } from 'node:timers/promises';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface Batching<Item, Result> {
  /** Groups under way at most. */
  atOnce: number;
  /** Items of one key are never under way together: the next one waits for the one before. */
  keyOf(item: Item): string;
  /** Called for each new group: answers whether an item has room beside those taken before, and remembers it. */
  startGroup(): (item: Item) => boolean;
  /** Does what `items` ask for, and answers how each went. What it rejects with is told to all of them. */
  doTogether(items: readonly Item[]): Promise<(item: Item) => Result>;
}

/** What arrives while groups are under way waits and goes together as the next; nobody waits for more to come. */
export function batching<Item, Result>({
  atOnce,
  keyOf,
  startGroup,
  doTogether,
}: Batching<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let workers = 0;
  const underWay = new Set<string>();

  function takeGroup(): Waiting<Item, Result>[] {
    const hasRoom = startGroup();
    const group: Waiting<Item, Result>[] = [];
    const left: Waiting<Item, Result>[] = [];
    for (const one of waiting) {
      const key = keyOf(one.item);
      if (underWay.has(key) || !hasRoom(one.item)) left.push(one);
      else {
        underWay.add(key);
        group.push(one);
      }
    }
    waiting = left;
    return group;
  }

  async function doGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const resultOf = await doTogether(group.map(({ item }) => item));
      for (const { item, resolve } of group) resolve(resultOf(item));
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      for (const { item } of group) underWay.delete(keyOf(item));
    }
  }

  async function work(): Promise<void> {
    workers += 1;
    // What comes in one turn of the event loop goes together from the first group on.
    await nextTurn();
    // Where all that waits has its key under way, the worker of that group takes it.
    for (let group = takeGroup(); group.length > 0; group = takeGroup()) await doGroup(group);
    workers -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (workers < atOnce) void work();
    });
}
