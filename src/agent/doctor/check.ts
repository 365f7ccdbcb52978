import { SvcError } from '../../base/svc-error.ts';

/** One line of `svc-agent doctor`. */
export interface Check {
  name: string;
  ok: boolean;
  /** What was seen, or what is wrong and what helps. */
  detail: string;
}

/** A check fails by a SvcError; any other error is a bug. */
export async function check(name: string, look: () => string | Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await look() };
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return { name, ok: false, detail: [error.message, error.hint ?? ''].join(' ').trim() };
  }
}

export function wrong(message: string, hint?: string): SvcError {
  return new SvcError('check_failed', message, hint === undefined ? {} : { hint });
}

/** What a call came to, or the error that it ended with, to be thrown where it matters. */
export function valueOrThrow<T>(outcome: T | SvcError): T {
  if (outcome instanceof SvcError) throw outcome;
  return outcome;
}
