// Publishes the changes that anchoring makes, to the accounts of its tasks.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Change } from '../../protocol/stream.ts';
import type { AnchorStore } from '../ports/anchoring.ts';
import type { ChangeFeed } from './stream.ts';

type Tasks = { attemptId: string } | { taskIds: string[] };

/** Reads the tasks of an attempt, or those of the ids, with their accounts. Deleted tasks are left out. */
export type FindTasks = (of: Tasks) => Promise<{ id: string; wallet: string }[]>;

/** Publishes the changes after their commit. The callers do not wait for it. */
export function publishAnchors<Store extends AnchorStore>(
  store: Store,
  feed: ChangeFeed,
  findTasks: FindTasks,
): Store {
  async function publish(kinds: readonly Change['kind'][], ofAll: readonly Tasks[]): Promise<void> {
    try {
      for (const of of ofAll) {
        if (!feed.isWatched) return;
        for (const { id, wallet } of await findTasks(of)) {
          feed.changed(
            wallet,
            kinds.map((kind) => ({ kind, id })),
          );
        }
        // An attempt has up to 1024 tasks.
        await nextTurn();
      }
    } catch {
      feed.lose();
    }
  }
  const ofAttempt = (kinds: readonly Change['kind'][], ...ids: readonly string[]) =>
    void publish(
      kinds,
      ids.map((attemptId) => ({ attemptId })),
    );
  return {
    ...store,
    async commitAttempt(lease, attempt) {
      await store.commitAttempt(lease, attempt);
      ofAttempt(['anchor'], attempt.id);
    },
    async addVariant(lease, attemptId, ...more) {
      await store.addVariant(lease, attemptId, ...more);
      ofAttempt(['anchor'], attemptId);
    },
    async settleLeaves(lease, attemptId, ...more) {
      const left = await store.settleLeaves(lease, attemptId, ...more);
      if (left === 0) ofAttempt(['task', 'anchor', 'credit'], attemptId);
      return left;
    },
    async refuseQueuedProofs(lease, taskIds, ...more) {
      await store.refuseQueuedProofs(lease, taskIds, ...more);
      void publish(['anchor', 'credit'], [{ taskIds }]);
    },
    async recordInclusionChanges(lease, changes, now) {
      await store.recordInclusionChanges(lease, changes, now);
      ofAttempt(['anchor'], ...changes.safe, ...changes.finalized, ...changes.reorged);
    },
    async recordReplacedNonce(lease, attemptId, now) {
      await store.recordReplacedNonce(lease, attemptId, now);
      ofAttempt(['anchor', 'credit'], attemptId);
    },
  };
}
