import { setTimeout as sleep } from 'node:timers/promises';
import { startTestChain, type TestChain } from '../support/anvil.ts';

/** A real chain whose blocks come by the clock of the driver, so that they can stop and go on. */
export interface MinedChain extends TestChain {
  /** Runs while no block is made. */
  whileHalted<T>(work: () => Promise<T>): Promise<T>;
}

export async function startMinedChain(blockMs: number): Promise<MinedChain> {
  const chain = await startTestChain();
  let closed = false;
  let halts = 0;
  let mining: Promise<void> = Promise.resolve();
  const clock = (async () => {
    while (!closed) {
      if (halts === 0) {
        mining = chain.mine();
        await mining;
      }
      await sleep(blockMs);
    }
  })();
  // The next call reports a chain that has died.
  clock.catch(() => {});
  return {
    ...chain,
    async whileHalted(work) {
      halts += 1;
      try {
        await mining;
        return await work();
      } finally {
        halts -= 1;
      }
    },
    async close() {
      closed = true;
      await clock.catch(() => {});
      await chain.stop();
    },
  };
}
