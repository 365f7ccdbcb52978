// Makes folders whose names survive a power cut.
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder that only its owner can use, with the folders above it. Each new name is durable on return, and so is
 * the name of a folder that was there: the process that made it may have died before its sync.
 */
export function makeDurableFolder(folder: string): void {
  const highest = path.resolve(mkdirSync(folder, { recursive: true, mode: 0o700 }) ?? folder);
  for (let made = path.resolve(folder); made.length >= highest.length; made = path.dirname(made)) {
    try {
      syncFolderOf(made);
    } catch (error) {
      // A folder that may be searched and not read cannot be opened, and so not synced.
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    }
    if (made === path.dirname(made)) return;
  }
}

/** Makes the names in the folder of this file or folder durable. */
export function syncFolderOf(file: string): void {
  const handle = openSync(path.dirname(path.resolve(file)), 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
