// One check of `svc-agent doctor` and its result.
import { SvcError } from '../../base/svc-error.ts';

/** A line of the output. */
export interface Check {
  name: string;
  ok: boolean;
  /** What was found, or the problem and its remedy. */
  detail: string;
}

/** A check fails by throwing a SvcError. Any other error is a bug. */
export async function check(name: string, look: () => string | Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await look() };
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return { name, ok: false, detail: [error.message, error.hint ?? ''].join(' ').trim() };
  }
}

export function wrong(message: string, hint?: string): SvcError {
  return new SvcError('check_failed', message, { hint });
}

/** The value, or throws the error, of a call that was made before. */
export function valueOrThrow<T>(outcome: T | SvcError): T {
  if (outcome instanceof SvcError) throw outcome;
  return outcome;
}
