// Creates errors of the wire's error table, and those of a store whose schema has another version.
import { SvcError, type SvcErrorOptions } from '../../base/svc-error.ts';
import { type ErrorCode, errors } from '../../protocol/errors.ts';

/** An error from the wire's error table, which also says whether a retry may help. */
export function wireError(
  code: ErrorCode,
  message: string,
  options: Omit<SvcErrorOptions, 'retryable'> = {},
): SvcError<ErrorCode> {
  return new SvcError(code, message, { ...options, retryable: errors[code].retryable });
}

/**
 * The error for a write that failed or whose outcome is unknown, and for a failed read. `message` must never quote the
 * database.
 */
export function storageUnavailable(message: string, cause?: unknown): SvcError {
  return wireError('storage_unavailable', message, cause === undefined ? {} : { cause });
}

export function schemaTooOld(found: number, known: number): SvcError {
  return new SvcError(
    'schema_too_old',
    `The database has schema ${found}; this version works with schema ${known}.`,
    { hint: 'Run `svc-server migrate` with this version.' },
  );
}

export function schemaTooNew(found: number, known: number): SvcError {
  return new SvcError(
    'schema_too_new',
    `The database has schema ${found}; this version knows schemas up to ${known}.`,
    { hint: 'Use the version of svc-server that wrote the database, or a newer one.' },
  );
}
