import { setFlagsFromString } from 'node:v8';

/**
 * Holds V8's young generation at the size that it has while `work` runs. Almost all that a start makes lives on, for
 * which V8 would double that generation until it has its maximum, and keep the pages for as long as little is asked.
 * Afterwards it grows with what requests hold.
 */
export async function withoutGrowth<Result>(work: () => Promise<Result>): Promise<Result> {
  setFlagsFromString('--semi-space-growth-factor=1');
  try {
    return await work();
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2');
  }
}
