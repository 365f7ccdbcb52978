import type { SvcError } from '../../base/svc-error.ts';
import { fault } from '../core/fault.ts';

/** The outcome of a write is unknown or none, or nothing can be read; never with what the database said. */
export function storageUnavailable(message: string, cause?: unknown): SvcError {
  return fault('storage_unavailable', message, cause === undefined ? {} : { cause });
}
