import { SvcError } from '../../base/svc-error.ts';

/**
 * What an error of a call means for what is to be delivered:
 * - `link`: nothing can be delivered now; the same later.
 * - `key`: nothing until there is another key.
 * - `credits`: no completion until the account has credits, or the chain can be read.
 * - `record`: this record later, others now.
 * - `slow`: too large for the time that the service gives, or for what stands before it.
 * - `refused`: this record never.
 */
export type Verdict = 'link' | 'key' | 'credits' | 'record' | 'slow' | 'refused';

const verdicts: Readonly<Record<string, Verdict>> = {
  missing_api_key: 'key',
  invalid_api_key: 'key',
  rate_limited: 'link',
  overloaded: 'link',
  storage_unavailable: 'link',
  service_unreachable: 'link',
  unexpected_answer: 'link',
  no_anchor_quota: 'credits',
  no_gas_credit: 'credits',
  chain_unavailable: 'credits',
  anchoring_failed: 'record',
  internal_error: 'record',
  request_timeout: 'slow',
  timed_out: 'slow',
  // Nothing was sent, and nothing ever would be.
  invalid_body: 'refused',
  invalid_path: 'refused',
};

/** No answer holds the agent up for longer, whoever it came from. */
const LONGEST_RETRY_AFTER_MS = 60 * 60_000;

/** A code that is not in the table is refused where the service says that it is the caller's fault. */
export function verdictOf({ code, details }: SvcError): Verdict {
  const status = typeof details.status === 'number' ? details.status : 0;
  if (code === 'unexpected_answer' && status === 413) return 'slow';
  return verdicts[code] ?? (status >= 400 && status < 500 ? 'refused' : 'record');
}

/** Whether no answer of the service came, which may be the record's doing: something on the way may take no such body. */
export function isLost({ code }: SvcError): boolean {
  return code === 'timed_out' || code === 'service_unreachable' || code === 'unexpected_answer';
}

/** What the service asked to wait; 0 where it did not. */
export function retryAfterMs(error: SvcError): number {
  const { retry_after: seconds } = error.details;
  if (typeof seconds !== 'number') return 0;
  return Math.min(seconds * 1000, LONGEST_RETRY_AFTER_MS);
}

/** Any error of a call as one of the family; a bug is thrown on. `timeout` ended the call if it is aborted. */
export function callError(error: unknown, timeout?: AbortSignal): SvcError {
  if (error instanceof SvcError) return error;
  // What an abort rejects with differs from one transport to another.
  if (timeout?.aborted) {
    return new SvcError('timed_out', 'The service took too long to answer.', { retryable: true });
  }
  throw error;
}
