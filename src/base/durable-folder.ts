// Makes folders whose names survive a power cut.
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder that only its owner can use, with the folders above it. Each new name is durable on return, and so is
 * the name of a folder that was there: the process that made it may have died before its sync. Throws the system's
 * error, also below /proc, where Node's recursive mkdir repeats itself forever.
 */
export function makeDurableFolder(folder: string): void {
  const full = path.resolve(folder);
  if (!existsSync(full)) {
    makeDurableFolder(path.dirname(full));
    try {
      mkdirSync(full, { mode: 0o700 });
    } catch (error) {
      // Another process may have made it meanwhile.
      if (!existsSync(full)) throw error;
    }
  }
  try {
    syncFolderOf(full);
  } catch (error) {
    // A folder that may be searched and not read cannot be opened, and so not synced.
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
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
