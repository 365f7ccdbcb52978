// Lists queued proofs, and waits for them and for completions.

import type { Triggers } from '../../../base/triggers.ts';
import type { AnchorStore } from '../../ports/anchoring.ts';
import type { CompletionStore } from '../../ports/completions.ts';
import { batching } from '../engine/batching.ts';
import { rows, type StepRunner } from '../engine/steps.ts';
import { QUEUED_COLUMNS } from '../rows/anchoring.ts';
import { completionTopic, QUEUE_TOPIC } from '../tasks.ts';

export const waitSql = {
  queued: `SELECT ${QUEUED_COLUMNS} FROM completions
    WHERE state = 'queued' ORDER BY round, reserve_seq LIMIT $1`,
  /** The tasks that are verified, failed or deleted. */
  over: `SELECT g.value AS id FROM json_array_elements_text($1::json) AS g
    LEFT JOIN tasks t ON t.id = g.value::uuid LEFT JOIN completions c ON c.task_id = t.id
    WHERE t.id IS NULL OR t.status = 'verified' OR c.state = 'failed'`,
} as const;

/** `anyQueued` answers whether a proof is queued for any sender. */
export function waits(runner: StepRunner, triggers: Triggers, anyQueued: () => Promise<boolean>) {
  const isOver = overTogether(runner);
  const polls = new Set<() => void>();
  let ticks: NodeJS.Timeout | undefined;

  /** All waits look again together. */
  function enter(poll: () => void): void {
    polls.add(poll);
    if (runner.pollMs === null) return;
    ticks ??= setInterval(() => {
      for (const one of [...polls]) one();
    }, runner.pollMs).unref();
  }

  function leave(poll: () => void): void {
    polls.delete(poll);
    if (polls.size > 0) return;
    clearInterval(ticks);
    ticks = undefined;
  }

  async function wait(
    topic: string,
    signal: AbortSignal,
    isDone: (isPoll: boolean) => Promise<boolean>,
  ): Promise<void> {
    let isPoll = false;
    let look = () => {};
    const wake = () => look();
    const poll = () => {
      isPoll = true;
      look();
    };
    const unsubscribe = triggers.subscribe(topic, wake);
    signal.addEventListener('abort', wake);
    enter(poll);
    try {
      while (!signal.aborted) {
        // Before the read, so that no change and no poll during it is missed.
        const woken = new Promise<void>((resolve) => {
          look = resolve;
        });
        const asPoll = isPoll;
        isPoll = false;
        if (await isDone(asPoll)) return;
        await woken;
      }
    } finally {
      leave(poll);
      signal.removeEventListener('abort', wake);
      unsubscribe();
    }
  }

  return {
    waitForQueuedProof: (signal) => wait(QUEUE_TOPIC, signal, anyQueued),
    waitForCompletion: (taskId, signal) =>
      wait(completionTopic(taskId), signal, (isPoll) =>
        // After a failed poll the next one tries again.
        isPoll ? isOver(taskId).catch(() => false) : isOver(taskId),
      ),
  } satisfies Partial<AnchorStore & CompletionStore>;
}

/** Combines the lookups of concurrent waits into one query. */
function overTogether({ read }: StepRunner): (taskId: string) => Promise<boolean> {
  return batching({
    atOnce: 4,
    keyOf: (taskId: string) => taskId,
    startGroup: () => () => true,
    async doTogether(taskIds) {
      const found = await read(() => rows<{ id: string }>(waitSql.over, JSON.stringify(taskIds)));
      const over = new Set(found.map(({ id }) => id));
      return (taskId: string) => over.has(taskId);
    },
  });
}
