// The machine's clocks: wall time, the number of the boot, and the boot's monotonic time.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

/** A moment by all clocks of the machine. */
export interface Instant {
  /** Wall clock in milliseconds since 1970. It may be wrong. */
  readonly wallMs: number;
  /** Identifies the boot; later boots may have smaller numbers. */
  readonly boot: number;
  /** Monotonic clock of the boot in milliseconds. */
  readonly monoMs: number;
}

/** Tests replace it to move time. */
export interface AgentClock {
  now(): Instant;
  /** Whether the system reports that the wall clock is synchronized. */
  isSynchronized(): boolean;
}

/** All processes of a boot read the same monotonic clock. */
export function machineClock(): AgentClock {
  const boot = bootNumber();
  return {
    now: () => ({
      wallMs: Date.now(),
      boot,
      monoMs: Math.round(Number(process.hrtime.bigint() / 1_000_000n)),
    }),
    // systemd-timesyncd has this file from the first synchronization of the boot on. Other programs leave no trace.
    isSynchronized: () => existsSync('/run/systemd/timesync/synchronized'),
  };
}

/** 48 bits of the kernel's boot id. Without one, random bits: each start then counts as a boot. */
function bootNumber(): number {
  let digits: string;
  try {
    digits = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').replaceAll('-', '');
  } catch {
    digits = randomBytes(6).toString('hex');
  }
  return Number.parseInt(digits.slice(0, 12), 16);
}
