import { SvcError, type SvcErrorOptions } from '../../base/svc-error.ts';
import { type ErrorCode, errors } from '../../protocol/errors.ts';

/** An error of the wire's table; whether to retry comes from the table. */
export function fault(
  code: ErrorCode,
  message: string,
  options: Omit<SvcErrorOptions, 'retryable'> = {},
): SvcError<ErrorCode> {
  return new SvcError(code, message, { ...options, retryable: errors[code].retryable });
}
