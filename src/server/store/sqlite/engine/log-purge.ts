// Empties the write-ahead log after an erasure, so that no erased content remains in it.

import type { Database } from 'better-sqlite3';
import type { Checkpoints } from './checkpoints.ts';
import { isFatal } from './connections.ts';
import type { GroupCommit } from './group-commit.ts';
import type { ReadSnapshot } from './read-snapshot.ts';

/** After an attempt, the pause is this many times its duration, so that writes can proceed. */
const PAUSE_FACTOR = 4;
const RETRY_MS = 1_000;

export type LogPurge = ReturnType<typeof startLogPurge>;

interface Purging {
  writer: Database;
  /** The group commit of `writer`. A purge waits for its flush, because no read may see commits before it ends. */
  group: Pick<GroupCommit, 'committing'>;
  /** The checkpoints of this process, if any. A running one would keep the log from being truncated. */
  checkpoints: Checkpoints | null;
  /** The snapshot of this process. An open read would keep the log from being truncated too. */
  snapshot: ReadSnapshot;
  /** Called when disk or file can no longer be trusted. */
  onFatal: (error: Error) => void;
}

export function startLogPurge({ writer, group, checkpoints, snapshot, onFatal }: Purging) {
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
    // A process ends only when nothing waits for the purge.
    if (waiting.length === 0) timer.unref();
  }

  async function attempt(): Promise<void> {
    for (let work = underWay(); work !== null; work = underWay()) await work;
    if (stopped) return;
    dueAt = Number.POSITIVE_INFINITY;
    const startedAt = performance.now();
    const emptied = isEmptied();
    const endedAt = performance.now();
    restUntil = endedAt + PAUSE_FACTOR * (endedAt - startedAt);
    answerAll();
    if (!emptied) tryAt(endedAt + RETRY_MS);
  }

  function underWay(): Promise<void> | null {
    return checkpoints?.underWay ?? group.committing ?? snapshot.reading;
  }

  function isEmptied(): boolean {
    try {
      snapshot.leave();
      const [result] = writer.pragma('wal_checkpoint(TRUNCATE)') as { busy: 0 | 1 }[];
      return result?.busy === 0;
    } catch (error) {
      if (isFatal(error)) onFatal(error);
      return false;
    }
  }

  function answerAll(): void {
    const answered = waiting;
    waiting = [];
    for (const resolve of answered) resolve();
  }

  return {
    /**
     * Checkpoints the log and truncates it, so that it holds nothing that was erased before the call. Resolves after the
     * first attempt. If another process reads an older state, as a backup does, attempts go on until that has ended.
     */
    purge: () =>
      new Promise<void>((resolve) => {
        if (stopped) return resolve();
        waiting.push(resolve);
        timer?.ref();
        tryAt(Math.max(performance.now(), restUntil));
      }),
    /** Resolves after the next attempt if one is due, at once otherwise. Starts no attempt of its own. */
    join: () =>
      new Promise<void>((resolve) => {
        if (dueAt === Number.POSITIVE_INFINITY) resolve();
        else {
          waiting.push(resolve);
          timer?.ref();
        }
      }),
    /** Ends all attempts. The next start purges the log. */
    stop(): void {
      stopped = true;
      clearTimeout(timer);
      dueAt = Number.POSITIVE_INFINITY;
      answerAll();
    },
  };
}
