import type { Database } from 'better-sqlite3';
import type { Checkpoints } from './checkpoints.ts';
import { databaseErrorKind } from './connections.ts';
import type { GroupCommit } from './group-commit.ts';
import type { ReadSnapshot } from './read-snapshot.ts';

export interface LogPurge {
  /**
   * Writes the log back into the database and empties it, so that nothing that was erased before the call is
   * left in it. Resolves after the first try; where another process reads an older state, as a backup does,
   * tries go on until it has ended.
   */
  purge(): Promise<void>;
  /** Asks for no try of its own: resolves after the next one when one is due, at once otherwise. */
  join(): Promise<void>;
  /** What it did not come to is done at the next start. */
  stop(): void;
}

/** After a try nothing is tried for so many times as long as it took, so that writes get their time. */
const REST = 4;
const RETRY_MS = 1_000;

/** `onFatal` learns that disk or file cannot be trusted any more. */
export function startLogPurge({
  writer,
  group,
  checkpoints,
  snapshot,
  onFatal,
}: {
  writer: Database;
  /** Of `writer`: what it flushes nobody may read. */
  group: Pick<GroupCommit, 'flushing'>;
  /** Of this process, if there are any: one under way would keep the log from being emptied. */
  checkpoints: Checkpoints | null;
  /** A read of this process would keep it as well. */
  snapshot: ReadSnapshot;
  onFatal: (error: Error) => void;
}): LogPurge {
  let waiting: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let restUntil = Number.NEGATIVE_INFINITY;
  let stopped = false;

  function tryAt(instant: number): void {
    if (instant >= dueAt) return;
    clearTimeout(timer);
    dueAt = instant;
    timer = setTimeout(attempt, Math.max(0, instant - performance.now()));
    timer.unref();
  }

  async function attempt(): Promise<void> {
    for (let work = underWay(); work !== null; work = underWay()) await work;
    if (stopped) return;
    dueAt = Number.POSITIVE_INFINITY;
    const startedAt = performance.now();
    const emptied = isEmptied();
    const endedAt = performance.now();
    restUntil = endedAt + REST * (endedAt - startedAt);
    answerAll();
    if (!emptied) tryAt(endedAt + RETRY_MS);
  }

  function underWay(): Promise<void> | null {
    return checkpoints?.underWay ?? group.flushing;
  }

  function isEmptied(): boolean {
    try {
      snapshot.leave();
      const [result] = writer.pragma('wal_checkpoint(TRUNCATE)') as { busy: 0 | 1 }[];
      return result?.busy === 0;
    } catch (error) {
      if (databaseErrorKind(error) === 'fatal' && error instanceof Error) onFatal(error);
      return false;
    }
  }

  function answerAll(): void {
    const answered = waiting;
    waiting = [];
    for (const resolve of answered) resolve();
  }

  return {
    purge: () =>
      new Promise((resolve) => {
        if (stopped) return resolve();
        waiting.push(resolve);
        tryAt(Math.max(performance.now(), restUntil));
      }),
    join: () =>
      new Promise((resolve) => {
        if (dueAt === Number.POSITIVE_INFINITY) resolve();
        else waiting.push(resolve);
      }),
    stop() {
      stopped = true;
      clearTimeout(timer);
      dueAt = Number.POSITIVE_INFINITY;
      answerAll();
    },
  };
}
