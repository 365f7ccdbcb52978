// An RPC endpoint and its health.
import { type BackoffRange, backoffMs } from '../base/async/backoff.ts';
import { SvcError } from '../base/svc-error.ts';
import { chainProofCalls } from './chain-proof.ts';
import { isRateLimit, ProviderError, UnidentifiedError } from './errors.ts';
import { answersOn, type Identity, identityCalls } from './identity.ts';
import { type Ask, type Asked, connectRpc, limitRate, type RpcOptions } from './rpc.ts';

export interface ProviderStatus {
  /** `rpc-1` and so on, by position in the configuration; never part of the URL. */
  readonly label: string;
  /** `wrong_chain`: it is not used until it serves the expected chain again. */
  readonly state: 'healthy' | 'unhealthy' | 'wrong_chain';
  /** The last failure, for the log; null if there was none. */
  readonly lastReason: string | null;
  /** 0 to 1, by latency and recent failures. */
  readonly score: number;
}

export interface ProviderAsked extends Asked {
  readonly provider: string;
}

interface ProviderOptions extends Omit<RpcOptions, 'onAsked'> {
  readonly label: string;
  readonly onAsked?: ((asked: ProviderAsked) => void) | undefined;
  /** Maximum number of calls per second on `verifying`; unlimited if undefined. */
  readonly verifyPerSecond?: number | undefined;
}

export type Provider = ReturnType<typeof openProvider>;

/**
 * An RPC endpoint and its health. The channels are those of `connectRpc`; they reject at once while it is banned.
 *
 * @throws SvcError `invalid_rpc_url`.
 */
export function openProvider({ label, onAsked, verifyPerSecond, ...options }: ProviderOptions) {
  const health = new ProviderHealth();
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
      const { banMs: retryAfterMs, isExhausted } = health;
      if (retryAfterMs === 0) return ask(calls, signal);
      throw new ProviderError('the provider asked to retry later', { retryAfterMs, isExhausted });
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
    // `counted` is inside: a call that still waits for the limit was not sent, so the provider owes no answer to it.
    reading: limitRate(verifyPerSecond, counted(unlessBanned(rpc.reading))),
    verifying: limitRate(verifyPerSecond, counted(unlessBanned(rpc.verifying))),
    /** Number of reads that it has not answered yet. */
    get owed() {
      return owed;
    },
    /** Reads the endpoint's identity and updates `health` with the result. Never rejects. */
    probe(expected: Identity | null): Promise<void> {
      probing ??= identify(anchoring, expected)
        .then(
          () => health.identified(),
          (error) => noteStray(health, error),
        )
        .finally(() => {
          probing = null;
        });
      return probing;
    },
    status: (): ProviderStatus => ({
      label,
      state: health.isWrongChain ? 'wrong_chain' : health.isUp ? 'healthy' : 'unhealthy',
      lastReason: health.lastReason,
      score: health.score,
    }),
    close: () => rpc.close(),
  };
}

/** Updates the health if a rejected call shows that the provider serves another chain, or not which one. */
export function noteStray(health: ProviderHealth, error: unknown): void {
  if (error instanceof UnidentifiedError) health.unidentified(error.reason);
  if (error instanceof SvcError && error.code === 'chain_mismatch') health.strayed();
}

async function identify(ask: Ask, expected: Identity | null): Promise<void> {
  const answers = await ask(identityCalls(expected?.blockNumber ?? 0));
  if (expected !== null) answersOn(expected, answers);
}

/**
 * Updates the health after a request. A failed broadcast says nothing about reads, unless the node sent Retry-After. The
 * large reads of chain proofs never count: neither anchoring nor verification depends on them.
 */
function note(health: ProviderHealth, { calls, error, answers, seconds }: Asked): void {
  if (calls.every(({ method }) => chainProofCalls.has(method))) return;
  const isSend = calls.some(({ method }) => method === 'eth_sendRawTransaction');
  if (isSend && (error?.retryAfterMs ?? null) === null) return;
  const limited = answers.find((answer) => !answer.ok && isRateLimit(answer.refusal));
  if (error !== null) health.failed(error.reason, error);
  else if (limited !== undefined)
    health.failed('rate limited', { retryAfterMs: null, isExhausted: true });
  else if (answers.length > 0) health.answered(seconds);
}

const REST: BackoffRange = { firstMs: 500, maxMs: 30_000 };
/** Maximum ban: after this time a provider is called again, whatever Retry-After said. */
const LONGEST_BAN_MS = 60_000;
/** Weight of past observations in the moving averages. */
const MEMORY = 0.9;

/** The health of one endpoint. Instants are `performance.now()`. */
class ProviderHealth {
  /** Its chain was confirmed since its last failure. */
  isIdentified = false;
  isWrongChain = false;
  /** It does not show the block that identifies the chain, so it is not used. */
  #isUnidentified = false;
  /** It was too slow the last time, so the pool does not wait for it. */
  lags = false;
  lastReason: string | null = null;
  /** Whether its last failure was a limit of calls. */
  isExhausted = false;
  #failures = 0;
  #restsUntil = 0;
  #bannedUntil = 0;
  #latency = 0;
  #reliability = 1;

  /** It is not known to serve another chain, and it shows which one it serves. */
  get isUsable(): boolean {
    return !this.isWrongChain && !this.#isUnidentified;
  }

  /** It answers, and is usable. */
  get isUp(): boolean {
    return this.#failures === 0 && this.isUsable;
  }

  /** It is down, and its back-off is over. */
  get isProbeDue(): boolean {
    return !this.isUp && performance.now() >= this.#restsUntil && this.banMs === 0;
  }

  /** 0 to 1, by latency and recent failures. */
  get score(): number {
    return this.#reliability / (1 + this.#latency);
  }

  /** Milliseconds until it may be called again; 0 unless it asked not to be called (429 or 503 with Retry-After). */
  get banMs(): number {
    return Math.max(0, this.#bannedUntil - performance.now());
  }

  answered(seconds: number): void {
    if (this.isUsable) this.#failures = 0;
    this.#latency = this.#latency === 0 ? seconds : MEMORY * this.#latency + (1 - MEMORY) * seconds;
    this.#reliability = MEMORY * this.#reliability + (1 - MEMORY);
  }

  failed(
    reason: string,
    { retryAfterMs, isExhausted }: Pick<ProviderError, 'retryAfterMs' | 'isExhausted'>,
  ): void {
    this.#rest(reason, isExhausted);
    this.#reliability *= MEMORY;
    if (retryAfterMs === null) return;
    this.#bannedUntil = performance.now() + Math.min(retryAfterMs, LONGEST_BAN_MS);
  }

  /** Its last answer came from the expected chain. */
  identified(): void {
    this.isIdentified = true;
    this.isWrongChain = false;
    this.#isUnidentified = false;
    this.#failures = 0;
  }

  /** Its last answer came from another chain. */
  strayed(): void {
    this.isWrongChain = true;
    this.#isUnidentified = false;
    this.#rest('another chain answers');
  }

  /** Its last answer did not show which chain it serves. */
  unidentified(reason: string): void {
    this.#isUnidentified = true;
    this.isWrongChain = false;
    this.#rest(reason);
  }

  #rest(reason: string, isExhausted = false): void {
    this.#failures += 1;
    this.isExhausted = isExhausted;
    this.#restsUntil = performance.now() + backoffMs(this.#failures, REST);
    this.lastReason = reason;
    this.isIdentified = false;
  }
}
