// Prints an error of a command with the next step, and chooses the exit code.
import { SvcError } from '../../base/svc-error.ts';
import { escapeLines } from '../output/escape.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';

/** Prints on stderr what went wrong and what to do, and returns the exit code. */
export function reportError(error: unknown, signIn: string | null): ExitCode {
  if (!(error instanceof SvcError)) throw error;
  const exitCode = exitCodeOf(error.code);
  const reason = 'reason' in error ? `: ${error.reason}` : causeOf(error);
  const lines = [
    `svc: ${error.message}${reason}`,
    ...(exitCode === exitCodes.signInNeeded && signIn !== null ? [`Sign in with: ${signIn}`] : []),
    ...nextStepsOf(error),
  ];
  // Parts of the text come from the service.
  process.stderr.write(`${escapeLines(lines.join('\n'))}\n`);
  return exitCode;
}

const nextSteps: Readonly<Record<string, string>> = {
  no_anchor_quota: 'Ask the operator of the service for anchors; svc credits shows what is left.',
  no_gas_credit: 'Ask the operator of the service for gas credit; svc credits shows what is left.',
  robot_limit_reached: 'Delete a robot that is no longer used: svc robots list.',
  fleet_limit_reached: 'Delete a fleet that is no longer used: svc fleets list.',
  invalid_signature: 'Start again with svc login; a message can be signed for 10 minutes.',
};

function nextStepsOf({ code, hint, details }: SvcError): string[] {
  if (typeof details.retry_after === 'number') return [`Try again in ${details.retry_after} s.`];
  const text = hint ?? (Object.hasOwn(nextSteps, code) ? nextSteps[code] : undefined);
  return text === undefined ? [] : [text];
}

/** Why there was no answer. The system's own message is not printed: it may contain an address with a secret. */
function causeOf({ code, cause }: SvcError): string {
  if (code !== 'service_unreachable') return '';
  for (let error = cause; error instanceof Error; error = error.cause) {
    if (error.name === 'TimeoutError') return ' It took too long.';
    if (error.message === 'unexpected redirect') return ' It redirects, which is never followed.';
    const { code: system } = error as NodeJS.ErrnoException;
    if (typeof system === 'string' && /^[A-Z][A-Z_]+$/.test(system)) return ` (${system})`;
  }
  return '';
}
