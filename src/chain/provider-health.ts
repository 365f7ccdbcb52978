import { type BackoffRange, backoffMs } from '../base/backoff.ts';

export interface ProviderHealth {
  /** Answers, and is of no other chain than the expected one. */
  readonly isUp: boolean;
  /** By its own word it is to be left alone now (429 or 503 with Retry-After). */
  readonly isBanned: boolean;
  /** It is down, and its rest is over. */
  readonly isProbeDue: boolean;
  /** Its chain was seen since its last fault. */
  readonly isIdentified: boolean;
  readonly isWrongChain: boolean;
  /** Others need not wait for it: it was too slow the last time. */
  lags: boolean;
  readonly lastReason: string | null;
  /** 0 to 1, by latency and recent faults. */
  readonly score: number;
  /** Milliseconds until it may be asked again; 0 when it is not banned. */
  banMs(): number;
  answered(seconds: number): void;
  failed(reason: string, retryAfterMs: number | null): void;
  /** What it last answered was of the expected chain. */
  identified(): void;
  /** What it last answered was of another chain. */
  strayed(): void;
}

const REST: BackoffRange = { firstMs: 500, maxMs: 30_000 };
/** A provider that asks for more is asked again all the same. */
const LONGEST_BAN_MS = 60_000;
/** How much of the past a new observation leaves. */
const MEMORY = 0.9;

/** What is known of how one endpoint does. Instants are of `performance.now()`. */
export function createHealth(now: () => number = () => performance.now()): ProviderHealth {
  let [faults, restsUntil, bannedUntil] = [0, 0, 0];
  let [isIdentified, isWrongChain] = [false, false];
  let lastReason: string | null = null;
  let latency = 0;
  let reliability = 1;
  const rest = (reason: string) => {
    faults += 1;
    restsUntil = now() + backoffMs(faults, REST);
    lastReason = reason;
    isIdentified = false;
  };
  return {
    lags: false,
    get isUp() {
      return faults === 0 && !isWrongChain;
    },
    get isBanned() {
      return now() < bannedUntil;
    },
    get isProbeDue() {
      return !this.isUp && now() >= restsUntil && !this.isBanned;
    },
    get isIdentified() {
      return isIdentified;
    },
    get isWrongChain() {
      return isWrongChain;
    },
    get lastReason() {
      return lastReason;
    },
    get score() {
      return reliability / (1 + latency);
    },
    banMs: () => Math.max(0, bannedUntil - now()),
    answered(seconds) {
      if (!isWrongChain) faults = 0;
      latency = latency === 0 ? seconds : MEMORY * latency + (1 - MEMORY) * seconds;
      reliability = MEMORY * reliability + (1 - MEMORY);
    },
    failed(reason, retryAfterMs) {
      rest(reason);
      reliability *= MEMORY;
      if (retryAfterMs !== null) bannedUntil = now() + Math.min(retryAfterMs, LONGEST_BAN_MS);
    },
    identified() {
      [isIdentified, isWrongChain, faults] = [true, false, 0];
    },
    strayed() {
      isWrongChain = true;
      rest('another chain answers');
    },
  };
}
