import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** When something happened, as far as this machine can tell. */
export interface Instant {
  /** Milliseconds since 1970 by the wall clock, right or wrong. */
  readonly wallMs: number;
  /** Number of the boot. */
  readonly boot: number;
  /** Milliseconds of the boot's monotonic clock. */
  readonly monoMs: number;
}

/** The machine's clocks; replaced in tests that move time. */
export interface AgentClock {
  now(): Instant;
}

/** The wall clock, and the monotonic clock of this boot, which all processes of a boot share. */
export function machineClock(): AgentClock {
  const boot = bootNumber();
  return {
    now: () => ({
      wallMs: Date.now(),
      boot,
      monoMs: Math.round(Number(process.hrtime.bigint() / 1_000_000n)),
    }),
  };
}

/** 48 bits of the kernel's id of this boot; where there is none, of chance, as if each start were a boot. */
function bootNumber(): number {
  let digits: string;
  try {
    digits = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '');
  } catch {
    digits = randomBytes(6).toString('hex');
  }
  return Number.parseInt(digits.slice(0, 12), 16);
}
