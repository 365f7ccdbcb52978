import type { AgentClock } from '../../src/agent/clock.ts';

/** Clocks of a machine that a test moves. */
export interface TestAgentClock extends AgentClock {
  /** Time passes. */
  advance(ms: number): void;
  /** The wall clock is set; the monotonic clock goes on. */
  set(wallMs: number): void;
  /** The machine starts again; the wall clock shows what it is given. */
  reboot(wallMs: number): void;
  /** The system reports that the wall clock is synchronized. */
  synchronize(): void;
}

export function createAgentClock(start = Date.UTC(2026, 0, 15, 12, 0, 0)): TestAgentClock {
  let [wallMs, boot, monoMs, isSynchronized] = [start, 7, 1000, false];
  return {
    now: () => ({ wallMs, boot, monoMs }),
    isSynchronized: () => isSynchronized,
    synchronize() {
      isSynchronized = true;
    },
    advance(ms) {
      wallMs += ms;
      monoMs += ms;
    },
    set(to) {
      wallMs = to;
    },
    reboot(to) {
      [wallMs, boot, monoMs] = [to, boot + 1, 1000];
    },
  };
}
