// The clock that decides every expiry: the wall clock while it is plausible, else the checked time that is known.

import { inTime } from '../../base/async/in-time.ts';
import { passed } from '../../base/async/on-abort.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { CheckedTime, CheckedTimeStore } from '../ports/checked-time.ts';
import { isPlausible } from '../rules/checked-time.ts';

/** Longest wait for the chain. */
const CHAIN_MS = 3_000;
const SAVE_EVERY_MS = 60_000;
/** While the wall clock is implausible: new records may be refused, or get a wrong time. */
const RETRY_EVERY_MS = 1_000;

/**
 * Checked time: the wall clock, as long as it is plausible. Otherwise the last known checked time, plus what has passed
 * since then by the monotonic clock. Before `load`, it is the wall clock.
 */
export class CheckedClock implements Clock {
  readonly #wall: Clock;
  /** A checked time, and the monotonic clock at it. Null until the time in the database is known. */
  #known: { checkedMs: number; monoMs: number; confirmations: number } | null = null;
  #isImplausible = false;

  constructor(wall = systemClock) {
    this.#wall = wall;
  }

  now(): number {
    const wallMs = this.#wall.now();
    if (this.#known === null) return wallMs;
    const passedMs = performance.now() - this.#known.monoMs;
    const checkedMs = Math.floor(this.#known.checkedMs + passedMs);
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

  /**
   * Reads the saved checked time. This clock continues from it if it is the first, if an operator confirmed it, or if the
   * wall clock is implausible here and another instance is further.
   */
  async load(store: Pick<CheckedTimeStore, 'readCheckedTime'>): Promise<void> {
    const saved = await store.readCheckedTime();
    const first = { checkedAt: this.wallMs, confirmations: 0 };
    const { checkedAt, confirmations } = saved ?? first;
    const isNew = confirmations !== this.#known?.confirmations;
    const isLater = this.isImplausible && checkedAt > this.now();
    if (isNew || isLater) this.#accept(checkedAt, confirmations);
  }

  /** Accepts the wall clock if the newest block vouches for it. */
  vouch(newestBlockMs: number): void {
    const { wallMs } = this;
    if (isPlausible(wallMs, { checkedMs: this.now(), newestBlockMs })) this.#accept(wallMs);
  }

  /** What to save, also while the wall clock is implausible: a restart must not set the time back. */
  get checkedTime(): CheckedTime {
    return { checkedAt: this.now(), confirmations: this.#known?.confirmations ?? 0 };
  }

  #accept(checkedMs: number, confirmations = this.#known?.confirmations ?? 0): void {
    this.#known = { checkedMs, monoMs: performance.now(), confirmations };
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
  const stopping = new AbortController();
  const pauseMs = () => (clock.isImplausible ? RETRY_EVERY_MS : SAVE_EVERY_MS);
  let wasImplausible = false;
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
  };
  const keepOn = async () => {
    while (await passed(pauseMs(), stopping.signal)) await keep();
  };
  await keep();
  void keepOn();
  return { stop: () => stopping.abort() };
}

async function check({ clock, store, newestBlockMs }: Timekeeping): Promise<void> {
  await clock.load(store);
  if (clock.isImplausible) {
    const newest = await inTime(CHAIN_MS, newestBlockMs(), null).catch(() => null);
    if (newest !== null) clock.vouch(newest);
  }
  await store.saveCheckedTime(clock.checkedTime);
}
