// One RPC endpoint and its health.
import { type BackoffRange, backoffMs } from '../base/backoff.ts';
import { SvcError } from '../base/svc-error.ts';
import { isRateLimit, ProviderError } from './errors.ts';
import { answersOn, type Identity, identityCalls } from './identity.ts';
import { type Ask, type Asked, connectRpc, type RpcOptions } from './rpc.ts';

export interface ProviderStatus {
  /** `rpc-1` and so on, by the place in the configuration; nothing of the URL. */
  readonly label: string;
  /** `wrong_chain`: it is set aside until it is of the expected chain again. */
  readonly state: 'healthy' | 'unhealthy' | 'wrong_chain';
  /** What went wrong last, for the log; null when nothing ever did. */
  readonly lastReason: string | null;
  /** 0 to 1, by latency and recent faults. */
  readonly score: number;
}

/** One RPC URL, and how it does. The lanes are those of `Rpc`; they reject at once while it is banned. */
export interface Provider {
  readonly label: string;
  readonly health: ProviderHealth;
  readonly anchoring: Ask;
  readonly broadcasting: Ask;
  readonly reading: Ask;
  /** Reads it has not answered yet. */
  readonly owed: number;
  /** Reads its chain, of which `health` then knows whether it is the expected one. Never rejects. */
  probe(expected: Identity | null): Promise<void>;
  status(): ProviderStatus;
  close(): Promise<void>;
}

export interface ProviderAsked extends Asked {
  readonly provider: string;
}

export interface ProviderOptions extends Omit<RpcOptions, 'onAsked'> {
  readonly label: string;
  readonly onAsked?: ((asked: ProviderAsked) => void) | undefined;
}

/** @throws SvcError `invalid_rpc_url`. */
export function openProvider({ label, onAsked, ...options }: ProviderOptions): Provider {
  const health = createHealth();
  let owed = 0;
  let probing: Promise<void> | null = null;
  const rpc = connectRpc({
    ...options,
    onAsked(asked) {
      note(health, asked);
      onAsked?.({ ...asked, provider: label });
    },
  });
  const unlessBanned = (ask: Ask): Ask => {
    return async (calls, signal) => {
      const ban = health.banMs();
      if (ban > 0) throw new ProviderError('it asked to be left alone', { retryAfterMs: ban });
      return ask(calls, signal);
    };
  };
  const counted = (ask: Ask): Ask => {
    return async (calls, signal) => {
      owed += 1;
      try {
        return await ask(calls, signal);
      } finally {
        owed -= 1;
      }
    };
  };
  const anchoring = counted(unlessBanned(rpc.anchoring));
  return {
    label,
    health,
    anchoring,
    broadcasting: unlessBanned(rpc.broadcasting),
    reading: counted(unlessBanned(rpc.reading)),
    get owed() {
      return owed;
    },
    probe(expected) {
      probing ??= identify(anchoring, expected)
        .then(health.identified, (error) => noteStray(health, error))
        .finally(() => {
          probing = null;
        });
      return probing;
    },
    status: () => ({
      label,
      state: health.isWrongChain ? 'wrong_chain' : health.isUp ? 'healthy' : 'unhealthy',
      lastReason: health.lastReason,
      score: health.score,
    }),
    close: () => rpc.close(),
  };
}

/** Keeps what a rejected question says of the provider's chain. */
export function noteStray(health: ProviderHealth, error: unknown): void {
  if (error instanceof SvcError && error.code === 'chain_mismatch') health.strayed();
}

async function identify(ask: Ask, expected: Identity | null): Promise<void> {
  const answers = await ask(identityCalls);
  if (expected !== null) answersOn(expected, answers);
}

/** A pool that does not take bytes says nothing of how the node reads, unless it asks to be left alone. */
function note(health: ProviderHealth, { calls, error, answers, seconds }: Asked): void {
  const isSend = calls.some(({ method }) => method === 'eth_sendRawTransaction');
  if (isSend && (error?.retryAfterMs ?? null) === null) return;
  const limited = answers.find((answer) => !answer.ok && isRateLimit(answer.refusal));
  if (error !== null) health.failed(error.reason, error.retryAfterMs);
  else if (limited !== undefined) health.failed('rate limited', null);
  else if (answers.length > 0) health.answered(seconds);
}

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
