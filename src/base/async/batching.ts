// Groups concurrent items into batches that are processed together.

import { setImmediate as nextTurn } from 'node:timers/promises';

interface Batching<Item, Result> {
  /** The maximum number of groups processed concurrently. */
  atOnce: number;
  /** Groups that are processed at the same time have no key in common. */
  keyOf(item: Item): string;
  /** Starts a group. The returned function adds an item to the group if there is room, and returns whether it did. */
  startGroup(): (item: Item) => boolean;
  /** Processes a group and returns the result of each item. If it rejects, all items of the group reject. */
  doTogether(items: readonly Item[]): Promise<(item: Item) => Result>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Items that arrive while groups are processed form the next group. No item waits for further items to arrive. */
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
        group.push(one);
      }
    }
    for (const { item } of group) underWay.add(keyOf(item));
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
    // Let the first group collect all items of this turn of the event loop.
    await nextTurn();
    // If the keys of all waiting items are being processed, the worker of that group takes the items next.
    for (let group = takeGroup(); group.length > 0; group = takeGroup()) await doGroup(group);
    workers -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (workers < atOnce) void work();
    });
}
