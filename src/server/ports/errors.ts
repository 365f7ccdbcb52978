// Errors of the error table, as the server throws them.
import { SvcError, type SvcErrorOptions } from '../../base/svc-error.ts';
import { type ErrorCode, errors } from '../../protocol/errors.ts';

/** An error of the wire's table; whether to retry comes from the table. */
export function wireError(
  code: ErrorCode,
  message: string,
  options: Omit<SvcErrorOptions, 'retryable'> = {},
): SvcError<ErrorCode> {
  return new SvcError(code, message, { ...options, retryable: errors[code].retryable });
}

/** The outcome of a write is unknown or none, or nothing can be read; never with what the database said. */
export function storageUnavailable(message: string, cause?: unknown): SvcError {
  return wireError('storage_unavailable', message, cause === undefined ? {} : { cause });
}
