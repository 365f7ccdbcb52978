// A percentage on stderr, for work that takes longer than a moment.
import { escapeText } from './escape.ts';

/** Work shorter than this shows nothing. */
const DELAY_MS = 300;

/** Shows how far the work is. `end` clears the line. Without `isShown`, nothing is written. */
export function startProgress(isShown: boolean) {
  const startedAt = performance.now();
  let shown = '';
  return {
    /** `share` is from 0 to 1. */
    at(what: string, share: number) {
      if (!isShown || performance.now() - startedAt < DELAY_MS) return;
      const text = `${what} ${Math.floor(Math.min(share, 1) * 100)} %`;
      if (text !== shown) process.stderr.write(`\r\u001b[K${text}`);
      shown = text;
    },
    end() {
      if (shown !== '') process.stderr.write('\r\u001b[K');
    },
  };
}

/** Reads files with a percentage of each. */
export async function withFileProgress<Result>(
  isShown: boolean,
  read: (onRead: (file: string, share: number) => void) => Promise<Result>,
): Promise<Result> {
  const progress = startProgress(isShown);
  return read((file, share) => progress.at(`Hashing ${escapeText(file)}`, share)).finally(
    progress.end,
  );
}
