// Progress on stderr: a percentage for synchronous work, a spinner for everything else.
import type { Ora } from 'ora';
import type { Output } from '../../base/output/output.ts';
import { startProgress } from '../../base/progress.ts';

/**
 * Runs synchronous `work`, which would block a spinner, with a percentage on stderr that is cleared at the end. `at`
 * takes the share that is done, from 0 to 1.
 */
export function withProgress<Result>(
  { mayAnimate }: Output,
  what: string,
  work: (at: (share: number) => void) => Result,
): Result {
  const progress = startProgress(mayAnimate);
  try {
    return work((share) => progress.at(what, share));
  } finally {
    progress.end();
  }
}

/** Work shorter than this shows no spinner. */
const SPINNER_DELAY_MS = 200;

/** Runs `work` with a spinner on stderr, which is cleared at the end. */
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
    // `discardStdin` would take Ctrl-C away from the terminal, and ora does not know NO_COLOR.
    const color = isColored ? 'cyan' : false;
    spinner = ora({ text: what, stream: process.stderr, discardStdin: false, color }).start();
  }, SPINNER_DELAY_MS);
  try {
    return await work();
  } finally {
    done = true;
    clearTimeout(timer);
    (spinner as Ora | null)?.stop();
  }
}
