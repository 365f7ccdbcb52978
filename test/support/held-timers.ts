import { onTestFinished, vi } from 'vitest';

/**
 * Until the test ends, no timer of exactly so many ms that begins from now on fires. What waits for such a time-out
 * waits for ever, so that a test sees without a measure of time what does not.
 */
export function holdTimers(...held: number[]): void {
  const start = globalThis.setTimeout;
  const holding = (run: () => void, ms = 0) => start(held.includes(ms) ? () => {} : run, ms);
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(holding as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
}
