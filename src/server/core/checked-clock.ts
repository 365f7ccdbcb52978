// The time that every expiry is decided by: the wall clock where it is plausible, else the last accepted time.
import { type Clock, systemClock } from '../../base/clock.ts';
import { inTime } from '../../base/in-time.ts';
import type { Logger } from '../../base/logger.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { AcceptedTime, CheckedTimeStore } from '../ports/checked-time.ts';
import { isPlausible } from '../rules/checked-time.ts';

/** Longest wait for the chain. */
const CHAIN_MS = 3_000;
const SAVE_EVERY_MS = 60_000;
/** Soon, because what is new is refused or gets a wrong time meanwhile. */
const RETRY_EVERY_MS = 1_000;

/**
 * Checked time: the wall clock, as long as it is plausible. Otherwise it is the last accepted time and what has passed
 * since by the monotonic clock. Follows the wall clock until `load`.
 */
export class CheckedClock implements Clock {
  readonly #wall: Clock;
  /** Null until the accepted time of the database is known. */
  #accepted: { wallMs: number; monoMs: number; confirmations: number } | null = null;
  #isImplausible = false;

  constructor(wall = systemClock) {
    this.#wall = wall;
  }

  now(): number {
    const wallMs = this.#wall.now();
    if (this.#accepted === null) return wallMs;
    const checkedMs = this.#checkedMs(this.#accepted);
    this.#isImplausible = !isPlausible(wallMs, { checkedMs, newestBlockMs: null });
    if (this.#isImplausible) return checkedMs;
    this.#accept(wallMs);
    return wallMs;
  }

  get isImplausible(): boolean {
    this.now();
    return this.#isImplausible;
  }

  /** The time that the machine shows. */
  get wallMs(): number {
    return this.#wall.now();
  }

  /** Reads the accepted time. It counts here if it is the first, if an operator confirmed it, or if it is later. */
  async load(store: Pick<CheckedTimeStore, 'readAcceptedTime'>): Promise<void> {
    const saved = await store.readAcceptedTime();
    const first = { acceptedAt: this.wallMs, confirmations: 0 };
    const { acceptedAt, confirmations } = saved ?? first;
    const isNew = confirmations !== this.#accepted?.confirmations;
    const isLater = this.isImplausible && acceptedAt > this.now();
    if (isNew || isLater) this.#accept(acceptedAt, confirmations);
  }

  /** Accepts the wall clock if the newest block vouches for it. */
  vouch(newestBlockMs: number): void {
    const { wallMs } = this;
    if (isPlausible(wallMs, { checkedMs: this.now(), newestBlockMs })) this.#accept(wallMs);
  }

  /** What to save. While the wall clock is implausible too, so that a restart does not set the time back. */
  get acceptedTime(): AcceptedTime {
    return { acceptedAt: this.now(), confirmations: this.#accepted?.confirmations ?? 0 };
  }

  #checkedMs({ wallMs, monoMs }: { wallMs: number; monoMs: number }): number {
    return wallMs + Math.floor(performance.now() - monoMs);
  }

  #accept(wallMs: number, confirmations = this.#accepted?.confirmations ?? 0): void {
    this.#accepted = { wallMs, monoMs: performance.now(), confirmations };
  }
}

interface Timekeeping {
  readonly clock: CheckedClock;
  readonly store: CheckedTimeStore;
  /** Rejects while the chain cannot be read. */
  readonly newestBlockMs: () => Promise<number>;
  readonly logger: Logger;
}

/** Checks the clock now and regularly until stopped. Resolves after the first check. */
export async function startTimekeeping(options: Timekeeping): Promise<{ stop(): void }> {
  const { clock, logger } = options;
  let wasImplausible = false;
  let timer: NodeJS.Timeout;
  let stopped = false;
  const keep = async () => {
    await check(options).catch((error: unknown) =>
      logger.warn({ err: error }, 'failed to check the clock; retrying'),
    );
    const { isImplausible, wallMs } = clock;
    if (isImplausible !== wasImplausible) {
      const times = { wall: formatTimestamp(wallMs), checked: formatTimestamp(clock.now()) };
      if (isImplausible) logger.error(times, 'clock implausible');
      else logger.info(times, 'clock accepted');
    }
    wasImplausible = isImplausible;
    if (stopped) return;
    timer = setTimeout(keep, isImplausible ? RETRY_EVERY_MS : SAVE_EVERY_MS).unref();
  };
  await keep();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

async function check({ clock, store, newestBlockMs }: Timekeeping): Promise<void> {
  await clock.load(store);
  if (clock.isImplausible) {
    const newest = await inTime(CHAIN_MS, newestBlockMs(), null).catch(() => null);
    if (newest !== null) clock.vouch(newest);
  }
  await store.saveAcceptedTime(clock.acceptedTime);
}
