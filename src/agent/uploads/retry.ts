// What a failed call means, and when its record may be tried again.
import type { BackoffRange } from '../../base/async/backoff.ts';
import { SvcError } from '../../base/svc-error.ts';
import { errors, isErrorCode } from '../../protocol/errors.ts';

/**
 * What an error means for the queues:
 * - `link`: pause all uploads.
 * - `unexpected`: something else than the service answered. The next call for this robot shows whether the link or the
 *   record is the cause; the record is tried again later.
 * - `key`: pause all uploads until the key changes.
 * - `credits`: pause completions until the account has credits or the chain can be read.
 * - `record`: try this record later, and others now.
 * - `quota`: as `record`, although nothing is wrong with the record.
 * - `slow`: the request is too large for the service's time limit or for something before it.
 * - `refused`: the service will never accept this record, if the refusal is its own (`Uploads.isFinal`).
 */
export type Verdict =
  | 'link'
  | 'unexpected'
  | 'key'
  | 'credits'
  | 'record'
  | 'quota'
  | 'slow'
  | 'refused';

const verdicts: Readonly<Record<string, Verdict>> = {
  missing_api_key: 'key',
  invalid_api_key: 'key',
  rate_limited: 'link',
  overloaded: 'link',
  storage_unavailable: 'link',
  service_unreachable: 'link',
  unexpected_answer: 'unexpected',
  no_anchor_quota: 'credits',
  no_gas_credit: 'credits',
  chain_unavailable: 'credits',
  storage_quota: 'quota',
  // The owner may not have signed the key yet, or put another one into use.
  statement_required: 'record',
  request_timeout: 'slow',
  timed_out: 'slow',
  // The client refused to send it and always will.
  invalid_body: 'refused',
  invalid_path: 'refused',
};

/** Upper bound for `Retry-After`, in case something on the way asks for more. */
const LONGEST_RETRY_AFTER_MS = 60 * 60_000;

/** Other codes of the service follow its error table. */
export function verdictOf({ code, details }: SvcError): Verdict {
  if (code === 'unexpected_answer' && details.status === 413) return 'slow';
  const isFinal = isErrorCode(code) && !errors[code].retryable;
  return verdicts[code] ?? (isFinal ? 'refused' : 'record');
}

/** Whether no answer of the service arrived. The record may be the cause: a proxy on the way may drop such a body. */
export function isLost({ code }: SvcError): boolean {
  return code === 'timed_out' || code === 'service_unreachable' || code === 'unexpected_answer';
}

/** `Retry-After` of the answer in milliseconds; 0 without it. */
export function retryAfterMs(error: SvcError): number {
  const { retry_after: seconds } = error.details;
  if (typeof seconds !== 'number') return 0;
  return Math.min(seconds * 1000, LONGEST_RETRY_AFTER_MS);
}

/** The error of a call as a SvcError. Bugs are thrown. `timeout`: the signal that may have ended the call. */
export function callError(error: unknown, timeout?: AbortSignal): SvcError {
  if (error instanceof SvcError) return error;
  // The rejection after an abort differs between transports.
  if (timeout?.aborted) {
    return new SvcError('timed_out', 'The service took too long to answer.', { retryable: true });
  }
  throw error;
}

/**
 * A random part of a wait that doubles with each failure in a row, counted from 1, up to `maxMs`. Always
 * random, so that robots that lost the network together do not return together.
 */
export function retryMs(failures: number, range: BackoffRange, random = Math.random): number {
  return random() * Math.min(range.firstMs * 2 ** (failures - 1), range.maxMs);
}

/** When failed records may be tried again. Times are of `performance.now()`. */
export class Retries {
  readonly #entries = new Map<string, { failures: number; at: number; cause?: string }>();

  /** `retryAfterMs`: lower bound that the service asked for. */
  failed(name: string, range: BackoffRange, retryAfterMs = 0): void {
    const failures = (this.#entries.get(name)?.failures ?? 0) + 1;
    const at = performance.now() + Math.max(retryAfterMs, retryMs(failures, range));
    this.#entries.set(name, { failures, at, cause: `${range.maxMs} ${retryAfterMs}` });
  }

  /** Those that failed together, equally often and for the same cause, are tried together: at the time of the first. */
  join(names: readonly string[]): void {
    const times = new Map<string, number>();
    for (const name of names) {
      const entry = this.#entries.get(name);
      if (entry?.cause === undefined) continue;
      const like = `${entry.failures} ${entry.cause}`;
      const at = times.get(like) ?? entry.at;
      times.set(like, at);
      this.#entries.set(name, { ...entry, at });
    }
  }

  /** Waits at least this long, without counting a failure. */
  hold(name: string, ms: number): void {
    const { failures, at } = this.#entries.get(name) ?? { failures: 0, at: 0 };
    this.#entries.set(name, { failures, at: Math.max(at, performance.now() + ms) });
  }

  succeeded(name: string): void {
    this.#entries.delete(name);
  }

  failuresOf(name: string): number {
    return this.#entries.get(name)?.failures ?? 0;
  }

  /** Milliseconds until the next try; 0 for now. */
  waitMs(name: string): number {
    const at = this.#entries.get(name)?.at ?? 0;
    return Math.max(0, at - performance.now());
  }

  /** Names that failed and did not succeed since: those that wait for a retry, or those due for one. */
  names({ due }: { due: boolean }): string[] {
    const now = performance.now();
    return [...this.#entries].filter(([, { at }]) => at <= now === due).map(([name]) => name);
  }

  /** Gives the failures of a name to others, with the time of the next try. */
  inherit(name: string, heirs: readonly string[]): void {
    const entry = this.#entries.get(name) ?? { failures: 0, at: 0 };
    this.succeeded(name);
    for (const heir of heirs) this.#entries.set(heir, entry);
  }

  /** Waits as after at most this many failures. */
  ease(name: string, most: number, range: BackoffRange): void {
    if (this.failuresOf(name) <= most) return;
    const at = performance.now() + retryMs(most, range);
    this.#entries.set(name, { failures: most, at });
  }

  /** Allows every next try now. */
  clear(): void {
    this.#entries.clear();
  }
}

/** Pauses of the uploader in milliseconds. Tests shorten them. */
export const PAUSES = {
  /** Maximum between two looks at the spool and the key file. New records wake the uploader earlier. */
  lookMs: 2_500,
  /** Between two uploads of the newest samples, whatever else waits. */
  liveEveryMs: 1_000,
  /** Between two reads of the key file while the key does not work. */
  keyCheck: { firstMs: 2_000, maxMs: 2_000 },
  /** Between two tries of a call or record that failed for any other reason. */
  usual: { firstMs: 1_000, maxMs: 15 * 60_000 },
  /** Between two tries of the connection, and of a record whose answer was lost: the record is seldom the cause. */
  lost: { firstMs: 1_000, maxMs: 60_000 },
  /** Between two tries of a record that something else than the service answered to, while the service is there. */
  unexpected: { firstMs: 1_000, maxMs: 60 * 60_000 },
  /** Between two looks at a completion that the service has accepted and not anchored yet. */
  poll: { firstMs: 4_000, maxMs: 60_000 },
  /** Between two tries while the account has no credits or the service no chain: one completion tries for all. */
  credits: { firstMs: 10_000, maxMs: 15 * 60_000 },
  /** Between two looks whether the owner has signed the robot's key. */
  identity: { firstMs: 4_000, maxMs: 5 * 60_000 },
  /** Between two reads of the keys that the service signs promises with. */
  promiseKeysMs: 60_000,
  /** Time limit of a command that signs. */
  signCommandMs: 10_000,
  /** Pause of all uploads while the spool cannot be written: what is sent would be sent again. */
  spool: { firstMs: 1_000, maxMs: 30_000 },
};

export type UploaderPauses = Readonly<typeof PAUSES>;
