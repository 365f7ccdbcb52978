import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MS = 20;
/** Nobody holds a lock over anything that waits: one as old as this was left by a program that was killed. */
const ABANDONED_MS = 10_000;

/** Runs `work`, which does not wait, while no other program holds the file; `attempt` runs what touches the disk. */
export async function whileLocked(
  file: string,
  attempt: <Result>(use: () => Result) => Result,
  work: () => void,
): Promise<void> {
  while (!attempt(() => take(file))) await sleep(RETRY_MS);
  try {
    attempt(work);
  } finally {
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const held = statSync(file, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > ABANDONED_MS) rmSync(file, { force: true });
  return false;
}
