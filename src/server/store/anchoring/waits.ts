// Waits for queued proofs and for completions.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { batching } from '../../../base/async/batching.ts';
import { onAbort } from '../../../base/async/on-abort.ts';
import { singleFlight } from '../../../base/async/single-flight.ts';
import type { Triggers } from '../../../base/async/triggers.ts';
import type { AnchorStore, QueuedProof } from '../../ports/anchoring.ts';
import type { CompletionStore } from '../../ports/completions.ts';
import type { Db, Tx } from '../db/database.ts';
import { among, each, onPostgres } from '../db/dialect.ts';
import { raw, sql } from '../db/sql.ts';

/** The topic of `base/async/triggers.ts` on which waits learn that a proof may be queued. */
export const QUEUE_TOPIC = 'queue';

/** The topic on which waits learn that the completion may be verified or failed, or its task deleted. */
export function completionTopic(taskId: string): string {
  return `completion:${taskId}`;
}

export const QUEUED_COLUMNS = raw(
  `task_id AS "taskId", proof_hash AS "proofHash", leaf, generation, round, reserve_seq AS seq`,
);

/** The order of the queue. */
interface QueuePlace {
  round: number;
  seq: number;
}

/** Queued proofs read in one turn of the event loop. */
const PAGE = 1024;

/** Reads queued proofs in the order of the queue, page by page. */
export async function inPages(
  limit: number,
  readPage: (after: QueuePlace, limit: number) => Promise<(QueuedProof & QueuePlace)[]>,
): Promise<QueuedProof[]> {
  const all: QueuedProof[] = [];
  let after: QueuePlace = { round: Number.MIN_SAFE_INTEGER, seq: 0 };
  for (;;) {
    const most = Math.min(PAGE, limit - all.length);
    const page = await readPage(after, most);
    for (const { round, seq, ...proof } of page) {
      after = { round, seq };
      all.push(proof);
    }
    if (page.length < most || all.length === limit) return all;
    await nextTurn();
  }
}

/** Ends the offers of queued proofs, each to one sender. SQLite makes none. */
export async function endOffers(tx: Tx, taskIds: readonly string[]): Promise<void> {
  await tx.run(
    onPostgres(sql`UPDATE completions SET offered_to = NULL, offered_until = 0
      WHERE task_id ${among('uuid', taskIds)}`),
  );
}

/** `anyQueued` returns whether a proof is queued for any sender. */
export function waits(db: Db, triggers: Triggers, anyQueued: () => Promise<boolean>) {
  const isOver = overTogether(db);
  const looks = looksOf(db.pollMs, triggers);
  return {
    async waitForQueuedProof(signal) {
      for await (const _ of looks([QUEUE_TOPIC], signal)) if (await anyQueued()) return;
    },

    async waitForCompletions(taskIds, signal) {
      const waiting = new Map(taskIds.map((id) => [completionTopic(id), id]));
      const isLast = (topic: string) => waiting.delete(topic) && waiting.size === 0;
      for await (const cause of looks([...waiting.keys()], signal, isLast)) {
        try {
          await Promise.all(
            [...waiting].map(async ([topic, id]) => {
              if (await isOver(id)) waiting.delete(topic);
            }),
          );
        } catch (error) {
          // After a failed poll, the next one tries again.
          if (cause !== 'poll') throw error;
        }
        if (waiting.size === 0) return;
      }
    },
  } satisfies Partial<AnchorStore & CompletionStore>;
}

type Cause = 'start' | 'wake' | 'poll';

/**
 * Returns an iterator over the moments to look again: at the start, when a topic is woken that `isEnough` or whose wake
 * may be stale, and after each poll, until the signal aborts.
 */
function looksOf(pollMs: number | null, triggers: Triggers) {
  /** All waits poll together. */
  const poll =
    pollMs === null
      ? null
      : singleFlight(() => new Promise<void>((resolve) => setTimeout(resolve, pollMs).unref()));

  return async function* looks(
    topics: readonly string[],
    signal: AbortSignal,
    isEnough = (_topic: string) => true,
  ): AsyncGenerator<Cause> {
    let wake = () => {};
    const subscriptions = topics.map((topic) =>
      triggers.subscribe(topic, (mayBeStale) => {
        if (mayBeStale || isEnough(topic)) wake();
      }),
    );
    const ignore = onAbort(signal, () => wake());
    try {
      for (let cause: Cause = 'start'; !signal.aborted; ) {
        // Before the caller looks, so that it misses no change and no poll meanwhile.
        const next = new Promise<Cause>((resolve) => {
          wake = () => resolve('wake');
          void poll?.().then(() => resolve('poll'));
        });
        yield cause;
        cause = await next;
      }
    } finally {
      ignore();
      for (const unsubscribe of subscriptions) unsubscribe();
    }
  };
}

/** Combines the lookups of concurrent waits into one query. */
function overTogether({ read }: Db): (taskId: string) => Promise<boolean> {
  return batching({
    atOnce: 4,
    keyOf: (taskId: string) => taskId,
    startGroup: () => () => true,
    async doTogether(taskIds) {
      const found = await read((tx) => endedTasks(tx, taskIds));
      const over = new Set(found.map(({ id }) => id));
      return (taskId: string) => over.has(taskId);
    },
  });
}

/** Selects the tasks that are verified, failed or deleted. */
function endedTasks(tx: Tx, taskIds: readonly string[]) {
  return tx.all<{ id: string }>(sql`SELECT given.value AS id
    FROM (${each('uuid', taskIds)}) AS given
    LEFT JOIN tasks t ON t.id = given.value LEFT JOIN completions c ON c.task_id = t.id
    WHERE t.id IS NULL OR t.status = 'verified' OR c.state = 'failed'`);
}
