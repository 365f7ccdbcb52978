// Collects the changes of accounts, also those by anchoring, and passes them on to the watchers of all instances.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Change } from '../../protocol/stream.ts';
import type { Changed, ChangeStore, Changes } from '../ports/account.ts';
import type { AnchorStore } from '../ports/anchoring.ts';

/** Changes of this time are passed on together, in ms. */
const COLLECT_MS = 250;
/** More changes of an account become "anything", so that they fit into one notification of PostgreSQL. */
const MOST_CHANGES = 100;

/** By account, `kind:id` of each change; null for "anything". */
type Collected = Map<string, Set<string> | null>;

type Watcher = (changes: Changes) => void;

export class ChangeFeed implements ChangeStore {
  /** Sends collected changes to the other instances; null if there are none. */
  tellOthers: ((changes: Collected) => void) | null = null;
  /** Whether the changes of all instances arrive. */
  isComplete = true;
  readonly #watchers = new Map<string, Set<Watcher>>();
  /** For the watchers here. */
  #due: Collected = new Map();
  /** For the other instances. */
  #own: Collected = new Map();
  #timer: NodeJS.Timeout | undefined;

  /** Whether a change would reach anything. */
  get isWatched(): boolean {
    return this.tellOthers !== null || this.#watchers.size > 0;
  }

  changed(wallet: string, changed: Changed): void {
    if (!this.isWatched) return;
    const keys = changed && Object.entries(changed).map(([kind, id]) => `${kind}:${id}`);
    if (this.tellOthers !== null) this.#collect(this.#own, wallet, keys);
    this.receive(wallet, keys);
  }

  /** Changes by another instance. */
  receive(wallet: string, keys: readonly string[] | null): void {
    if (this.#watchers.has(wallet)) this.#collect(this.#due, wallet, keys);
  }

  changedAnywhere(): void {
    for (const wallet of this.#watchers.keys()) this.receive(wallet, null);
  }

  watchChanges(wallet: string, watcher: Watcher, signal: AbortSignal): void {
    const watchers = this.#watchers.get(wallet) ?? new Set();
    this.#watchers.set(wallet, watchers.add(watcher));
    signal.addEventListener('abort', () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(wallet);
    });
  }

  /** Passes on what was collected. */
  flush(): void {
    this.#timer = undefined;
    const [due, own] = [this.#due, this.#own];
    [this.#due, this.#own] = [new Map(), new Map()];
    for (const [wallet, keys] of due) {
      const changes = keys && [...keys].map(changeOf);
      for (const watcher of this.#watchers.get(wallet) ?? []) watcher(changes);
    }
    if (own.size > 0) this.tellOthers?.(own);
  }

  #collect(into: Collected, wallet: string, keys: readonly string[] | null): void {
    this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref();
    const collected = into.get(wallet);
    if (collected === null) return;
    const all = collected ?? new Set();
    for (const key of keys ?? []) all.add(key);
    into.set(wallet, keys === null || all.size > MOST_CHANGES ? null : all);
  }
}

function changeOf(key: string): Change {
  const [kind, id] = key.split(':') as [Change['kind'], string]; // Written by `changed`.
  return { kind, id };
}

/** Tasks of an attempt that are read in one turn of the event loop. */
const PAGE = 1024;

/**
 * Reads the tasks with these ids, and those of the attempt's leaves in the range of indexes, with their accounts. Deleted
 * tasks are left out.
 */
export type FindTasks = (
  attemptId: string | null,
  taskIds: readonly string[],
  indexes: readonly [number, number],
) => Promise<{ id: string; wallet: string }[]>;

/** Publishes the changes after their commit. The callers do not wait for it. */
export function publishAnchors<Store extends AnchorStore>(
  store: Store,
  feed: ChangeFeed,
  findTasks: FindTasks,
): Store {
  async function publish(
    kinds: Change['kind'][] | null,
    attemptIds: (string | null)[],
    taskIds: string[] = [],
  ): Promise<void> {
    try {
      for (const attemptId of attemptIds) {
        if (!feed.isWatched) return;
        for (let from = 0, more = true; more; from += PAGE) {
          const found = await findTasks(attemptId, taskIds, [from, from + PAGE]);
          for (const { id, wallet } of found) {
            feed.changed(wallet, kinds && Object.fromEntries(kinds.map((kind) => [kind, id])));
          }
          more = attemptId !== null && found.length > 0;
          await nextTurn();
        }
      }
    } catch {
      feed.changedAnywhere();
    }
  }
  return {
    ...store,
    commitAttempt: followed(store.commitAttempt, ([, { id }]) => publish(['anchor'], [id])),
    addVariant: followed(store.addVariant, ([, id]) => publish(['anchor'], [id])),
    settleLeaves: followed(store.settleLeaves, async ([, id], left) => {
      if (left === 0) await publish(['task', 'anchor', 'credit'], [id]);
    }),
    // Alerts may have opened.
    failQueuedProofs: followed(store.failQueuedProofs, ([, ids]) => publish(null, [null], ids)),
    recordInclusionChanges: followed(
      store.recordInclusionChanges,
      ([, { safe, finalized, reorged }]) =>
        publish(['anchor'], [...safe, ...finalized, ...reorged]),
    ),
    recordReplacedNonce: followed(store.recordReplacedNonce, ([, id]) =>
      publish(['anchor', 'credit'], [id]),
    ),
  };
}

/** The write, and what follows it. Its callers do not wait for that. */
function followed<Args extends unknown[], Result>(
  write: (...args: Args) => Promise<Result>,
  then: (args: Args, result: Result) => Promise<void>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const result = await write(...args);
    void then(args, result);
    return result;
  };
}
