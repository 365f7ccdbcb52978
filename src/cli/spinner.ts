import type { Ora } from 'ora';

/** What is done sooner needs no spinner. */
const PATIENCE_MS = 200;

/** Runs `work`, after a moment under a spinner on stderr that leaves nothing behind. */
export async function spin<Result>(
  what: string,
  work: () => Promise<Result>,
  isColored: boolean,
): Promise<Result> {
  let spinner: Ora | null = null;
  let done = false;
  const timer = setTimeout(async () => {
    const { default: ora } = await import('ora');
    if (done) return;
    // Ctrl-C must stay the terminal's own; and ora does not know NO_COLOR.
    const color = isColored ? 'cyan' : false;
    spinner = ora({ text: what, stream: process.stderr, discardStdin: false, color }).start();
  }, PATIENCE_MS);
  try {
    return await work();
  } finally {
    done = true;
    clearTimeout(timer);
    (spinner as Ora | null)?.stop();
  }
}
