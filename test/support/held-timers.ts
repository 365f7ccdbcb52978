import { onTestFinished, vi } from 'vitest';

/**
 * Until the test ends, no timer of exactly so many ms that begins from now on fires. Code that waits for one of these
 * time-outs hangs, so the test fails without measuring time.
 */
export function holdTimers(...held: number[]): void {
  const start = globalThis.setTimeout;
  const holding = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    start(held.includes(ms) ? () => {} : run, ms, ...args);
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(holding as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
}
