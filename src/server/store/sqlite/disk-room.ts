import { statfs } from 'node:fs/promises';
import path from 'node:path';

/** How old a look at the disk may be. */
const MAX_AGE_MS = 1_000;

/**
 * Tells whether the disk of the database has that many bytes free for a user without privileges; one look
 * a second at most. A disk that cannot be asked counts as roomy: the writes will tell.
 */
export function watchDisk(
  databasePath: string,
  minFreeBytes: number,
  freeBytes = freeBytesOf,
): () => Promise<boolean> {
  const folder = path.dirname(databasePath);
  let look: { at: number; roomy: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (look === null || now - look.at > MAX_AGE_MS) {
      const roomy = freeBytes(folder).then(
        (free) => free >= minFreeBytes,
        () => true,
      );
      look = { at: now, roomy };
    }
    return look.roomy;
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
