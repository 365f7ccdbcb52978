// Finishes a restore, also one that was interrupted at any step.

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { SvcError } from '../../../../base/svc-error.ts';

/** The suffix of a copy that is complete, durable and held. A time in ms follows it. */
const READY = '.restoring.';

/** The path of a copy that is not ready. */
export function incomingCopy(target: string): string {
  return `${target}.incoming`;
}

/** Renames the copy. From here on an interrupted restore is finished by the next start. */
export function declareReady(target: string, now: number): void {
  renameSync(incomingCopy(target), `${target}${READY}${now}`);
}

/**
 * Replaces the database by a copy that is ready. A crash can interrupt it anywhere, so each step may have been done
 * before. A copy that is not ready is removed. The caller must hold the lock. Returns the path that the old database
 * was moved to; `null` if there was none.
 */
export function finishRestore(target: string): string | null {
  removeCopy(incomingCopy(target));
  const ready = readyCopy(target);
  if (ready === null) return null;
  const aside = `${target}.replaced.${ready.slice(`${target}${READY}`.length)}`;
  syncFolderOf(target);
  // Move the write-ahead log too: it belongs to this file only.
  for (const suffix of ['', '-wal']) {
    if (existsSync(`${target}${suffix}`)) renameSync(`${target}${suffix}`, `${aside}${suffix}`);
  }
  rmSync(`${target}-shm`, { force: true });
  syncFolderOf(target);
  renameSync(ready, target);
  syncFolderOf(target);
  return existsSync(aside) ? aside : null;
}

/**
 * Refuses an unfinished restore, for a process that runs next to a server and must not finish it. Call it before
 * checking that the database exists: during a restore there is a moment without one.
 *
 * @throws SvcError `restore_unfinished`.
 */
export function refuseUnfinishedRestore(target: string): void {
  if (!isRestoreUnfinished(target)) return;
  throw new SvcError('restore_unfinished', `A restore of ${target} was interrupted.`, {
    hint: 'Run `svc-server start`, `migrate` or `restore` to finish it.',
  });
}

export function isRestoreUnfinished(target: string): boolean {
  return readyCopy(target) !== null;
}

export function removeCopy(copy: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal'])
    rmSync(`${copy}${suffix}`, { force: true });
}

function readyCopy(target: string): string | null {
  const folder = path.dirname(target);
  const name = readdirSync(folder).find((one) =>
    one.startsWith(`${path.basename(target)}${READY}`),
  );
  return name === undefined ? null : path.join(folder, name);
}
