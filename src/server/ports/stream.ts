// The store's contract for the changes of accounts, which streams pass on.
import type { Change } from '../../protocol/stream.ts';

/** The id of what changed, by kind; null if anything may have changed. */
export type Changed = { readonly [Kind in Change['kind']]?: string } | null;

/** What watchers get; null if anything may have changed. */
export type Changes = readonly Change[] | null;

/** Changes are not stored, and may be lost. The watchers then get null, so that they read everything again. */
export interface ChangeStore {
  /**
   * Passes on changes of an account, after they were committed. Returns at once. The store itself passes on what its
   * methods for anchoring change.
   */
  changed(wallet: string, changed: Changed): void;
  /**
   * Calls `watcher` with the changes of an account, by this and all other instances, at most every 250 ms, until the
   * signal aborts.
   */
  watchChanges(wallet: string, watcher: (changes: Changes) => void, signal: AbortSignal): void;
}
