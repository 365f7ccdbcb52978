import type { Output } from './output.ts';

/** What is done sooner needs no progress. */
const PATIENCE_MS = 300;

export interface Progress {
  /** From 0 to 1. */
  at(share: number): void;
  /** Leaves nothing behind. */
  end(): void;
}

/** A line on stderr for work that leaves a spinner no time to turn; nothing where nothing may move. */
export function startProgress({ mayAnimate }: Output, what: string): Progress {
  const begun = performance.now();
  let told = '';
  return {
    at(share) {
      if (!mayAnimate || performance.now() - begun < PATIENCE_MS) return;
      const text = `${what} ${Math.floor(Math.min(share, 1) * 100)} %`;
      if (text !== told) process.stderr.write(`\r${text}`);
      told = text;
    },
    end() {
      if (told !== '') process.stderr.write('\r\u001b[K');
    },
  };
}
