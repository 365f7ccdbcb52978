import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { TaskStore } from '../../core/ports.ts';
import { completionTopic } from '../topics.ts';
import type { WakeUps } from '../wake-ups.ts';
import type { Access } from './access.ts';
import { sql } from './sql.ts';

/** Hints may be lost, and there are none behind a pooler. */
const POLL_MS = 1_000;

// Those that are included or failed, and those that are gone.
const selectOver = sql(`SELECT id FROM unnest($1::uuid[]) AS asked (id)
  LEFT JOIN tasks t USING (id) LEFT JOIN completions c ON c.task_id = t.id
  WHERE t.id IS NULL OR t.status = 'verified' OR c.state = 'failed'`);

/** Requests wait for what any instance does. However many do, one query looks for all of them. */
export function completionWaits(
  access: Access,
  wakeUps: WakeUps,
): Pick<TaskStore, 'waitForCompletion'> {
  const waits = new Map<string, number>();
  let polling = false;
  const isOver = overTogether(access);

  /** Runs while somebody waits. */
  async function poll(): Promise<void> {
    for (;;) {
      await delay(POLL_MS, undefined, { ref: false });
      if (waits.size === 0) break;
      // Who waits finds out at the next time.
      const rows = await findOver(access, [...waits.keys()]).catch(() => []);
      for (const id of rows) wakeUps.wake(completionTopic(id));
    }
    polling = false;
  }

  function enter(taskId: string): void {
    waits.set(taskId, (waits.get(taskId) ?? 0) + 1);
    if (polling) return;
    polling = true;
    void poll();
  }

  function leave(taskId: string): void {
    const others = (waits.get(taskId) ?? 1) - 1;
    if (others > 0) waits.set(taskId, others);
    else waits.delete(taskId);
  }

  return {
    async waitForCompletion(taskId, signal) {
      const over = new AbortController();
      const end = () => over.abort();
      signal.addEventListener('abort', end);
      enter(taskId);
      try {
        while (!signal.aborted) {
          // Before it looks, so that it misses nothing.
          const woken = wakeUps.wait(completionTopic(taskId), over.signal);
          if (await isOver(taskId)) return;
          await woken;
        }
      } finally {
        leave(taskId);
        end();
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** Asks for all at once what is asked for in one turn of the event loop. */
function overTogether(access: Access): (taskId: string) => Promise<boolean> {
  let gathering: { ids: Set<string>; over: Promise<ReadonlySet<string>> } | undefined;

  async function look(ids: Set<string>): Promise<ReadonlySet<string>> {
    await nextTurn();
    gathering = undefined;
    return new Set(await findOver(access, [...ids]));
  }

  return async (taskId) => {
    if (gathering === undefined) {
      const ids = new Set<string>();
      gathering = { ids, over: look(ids) };
    }
    gathering.ids.add(taskId);
    return (await gathering.over).has(taskId);
  };
}

async function findOver(access: Access, ids: readonly string[]): Promise<string[]> {
  const rows = await access.rows<{ id: string }>(selectOver, [ids]);
  return rows.map(({ id }) => id);
}
