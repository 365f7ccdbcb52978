import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { syncFolderOf } from '../../../../base/durable-folder.ts';
import { SvcError } from '../../../../base/svc-error.ts';

/** Follows the database's name in that of a copy which is whole, durable and held; then comes a number. */
const READY = '.restoring.';

/** The copy on its way to be ready; a version before this one called it `.restoring`. */
const NOT_READY = ['.incoming', '.restoring'] as const;

export function incomingCopy(target: string): string {
  return `${target}${NOT_READY[0]}`;
}

/** From this renaming on a restore is ended, however it is cut short. */
export function declareReady(target: string, now: number): void {
  renameSync(incomingCopy(target), `${target}${READY}${now}`);
}

/**
 * Puts a copy that is ready in the place of the database, also where a restore was cut short at any moment:
 * each step may have been done before. A copy that never became ready is removed. Only for who holds the
 * lock. Answers where the database before it is; null when there was none.
 */
export function finishRestore(target: string): string | null {
  for (const suffix of NOT_READY) removeCopy(`${target}${suffix}`);
  const ready = readyCopy(target);
  if (ready === null) return null;
  const aside = `${target}.replaced.${ready.slice(`${target}${READY}`.length)}`;
  syncFolderOf(target);
  // The write-ahead log goes along: it belongs to that file and to no other.
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
 * For a process that works beside a server and so must not finish it; asked before whether there is a
 * database, since for a moment of a restore there is none.
 *
 * @throws SvcError `restore_unfinished`.
 */
export function refuseUnfinishedRestore(target: string): void {
  if (!isRestoreUnfinished(target)) return;
  throw new SvcError('restore_unfinished', `A restore of ${target} was cut short.`, {
    hint: 'svc-server start, migrate, or restore again, finishes it.',
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
