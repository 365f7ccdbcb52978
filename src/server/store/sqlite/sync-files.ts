import { closeSync, fsyncSync, openSync } from 'node:fs';
import path from 'node:path';

export function syncFile(file: string): void {
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes the names in the file's folder durable. */
export function syncFolderOf(file: string): void {
  const handle = openSync(path.dirname(path.resolve(file)), 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
