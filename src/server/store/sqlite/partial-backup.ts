import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { lockDatabase } from './connections.ts';

/** Ends the name of a copy on its way to be a backup. */
const PARTIAL = /\.partial-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Runs `write` with a name beside `file` for a copy on its way, which is gone afterwards. A lock that the operating
 * system lets go of tells who comes later whether somebody is still at it.
 */
export function withPartial<T>(file: string, write: (partial: string) => T): T {
  const partial = `${file}.partial-${randomUUID()}`;
  const lock = lockDatabase(partial);
  try {
    return write(partial);
  } finally {
    removeHeld(partial, lock);
  }
}

/** Removes the copies beside `file` of backups that were killed, whatever they were to be called. Answers their paths. */
export function removeLeftPartials(file: string): string[] {
  const folder = path.dirname(file);
  const partials = readdirSync(folder).filter((name) => PARTIAL.test(name));
  return partials.map((name) => path.join(folder, name)).filter(removeIfLeft);
}

function removeIfLeft(partial: string): boolean {
  let lock: ReturnType<typeof lockDatabase>;
  try {
    lock = lockDatabase(partial);
  } catch {
    // Somebody is at it, or it is somebody else's: no reason to make no backup.
    return false;
  }
  removeHeld(partial, lock);
  return true;
}

function removeHeld(partial: string, lock: { release(): void }): void {
  try {
    rmSync(partial, { force: true });
  } finally {
    lock.release();
    rmSync(`${partial}.lock`, { force: true });
  }
}
