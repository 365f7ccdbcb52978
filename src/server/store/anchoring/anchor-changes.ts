// Publishes the changes that anchoring makes, to the accounts of its tasks.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Change } from '../../../protocol/stream.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import type { ChangeFeed } from '../stream.ts';

/** Reads the tasks of an attempt, if any, and of the ids, with their accounts. Deleted tasks are left out. */
export type FindTasks = (
  attemptId: string | null,
  taskIds: readonly string[],
) => Promise<{ id: string; wallet: string }[]>;

/** Publishes the changes after their commit. The callers do not wait for it. */
export function publishAnchors<Store extends AnchorStore>(
  store: Store,
  feed: ChangeFeed,
  findTasks: FindTasks,
): Store {
  async function publish(
    kinds: Change['kind'][],
    attemptIds: (string | null)[],
    taskIds: string[] = [],
  ): Promise<void> {
    try {
      for (const attemptId of attemptIds) {
        if (!feed.isWatched) return;
        for (const { id, wallet } of await findTasks(attemptId, taskIds)) {
          feed.changed(wallet, Object.fromEntries(kinds.map((kind) => [kind, id])));
        }
        // An attempt has up to 1024 tasks.
        await nextTurn();
      }
    } catch {
      feed.lose();
    }
  }
  return {
    ...store,
    async commitAttempt(lease, attempt) {
      await store.commitAttempt(lease, attempt);
      void publish(['anchor'], [attempt.id]);
    },
    async addVariant(lease, attemptId, ...more) {
      await store.addVariant(lease, attemptId, ...more);
      void publish(['anchor'], [attemptId]);
    },
    async settleLeaves(lease, attemptId, ...more) {
      const left = await store.settleLeaves(lease, attemptId, ...more);
      if (left === 0) void publish(['task', 'anchor', 'credit'], [attemptId]);
      return left;
    },
    async refuseQueuedProofs(lease, taskIds, ...more) {
      await store.refuseQueuedProofs(lease, taskIds, ...more);
      void publish(['anchor', 'credit'], [null], taskIds);
    },
    async recordInclusionChanges(lease, changes, now) {
      await store.recordInclusionChanges(lease, changes, now);
      void publish(['anchor'], [...changes.safe, ...changes.finalized, ...changes.reorged]);
    },
    async recordReplacedNonce(lease, attemptId, now) {
      await store.recordReplacedNonce(lease, attemptId, now);
      void publish(['anchor', 'credit'], [attemptId]);
    },
  };
}
