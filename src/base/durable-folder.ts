// Makes folders whose names survive a power cut.
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';

/** Makes a folder that only its owner can use, with the folders above it. Each new name is durable on return. */
export function makeDurableFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const highest = path.resolve(first);
  for (let made = path.resolve(folder); made.length >= highest.length; made = path.dirname(made)) {
    syncFolderOf(made);
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
