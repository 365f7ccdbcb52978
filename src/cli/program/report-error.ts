// Prints an error of a command with the next step, and chooses the exit code.
import { printError } from '../../base/report-error.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { CommandSpec } from './command.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';

/**
 * Prints on stderr what went wrong and what to do, and returns the exit code. `called`: the command that failed;
 * `signIn`: the command that signs in.
 */
export function reportError(
  error: unknown,
  called: CommandSpec | null,
  signIn: string | null,
): ExitCode {
  if (!(error instanceof SvcError)) throw error;
  const exitCode = exitCodeOf(error.code);
  const reason = 'reason' in error ? `: ${error.reason}` : causeOf(error);
  const hints = [
    ...(exitCode === exitCodes.signInNeeded && error.code !== 'invalid_token' && signIn !== null
      ? [`Sign in with: ${signIn}`]
      : []),
    ...nextStepsOf(error),
  ];
  printError('svc', {
    code: error.code,
    message: `${called === null ? error.message : messageOf(error, called)}${reason}`,
    hint: hints.length === 0 ? undefined : hints.join('\n'),
  });
  return exitCode;
}

/** The message of the service names a member of the request: names the option or argument that was typed instead. */
function messageOf({ code, message }: SvcError, called: CommandSpec): string {
  const [, member, rest] = /^(\w+)(?:\.\d+)?( .*)$/s.exec(message) ?? [];
  if (code !== 'invalid_request' || member === undefined) return message;
  const named = [
    ...(called.options ?? []).map(({ flags, member }) => [/--[\w-]+/.exec(flags)?.[0], member]),
    ...(called.arguments ?? []).map(({ syntax, member }) => [syntax, member]),
  ].find(([typed, sent]) => (sent ?? typed?.replaceAll(/[^\w]/g, '')) === member);
  return named === undefined ? message : `${named[0]}${rest}`;
}

const nextSteps: Readonly<Record<string, string>> = {
  no_anchor_quota: 'Ask the operator of the service for anchors; svc credits shows the balance.',
  no_gas_credit: 'Ask the operator of the service for gas credit; svc credits shows the balance.',
  robot_limit_reached: 'Delete an unused robot; svc robots list shows them.',
  token_limit_reached: 'Revoke an unused token; svc tokens list shows them.',
  wallet_session_required:
    'Create the token in the dashboard, or sign in with svc login --key-file or --manual.',
  invalid_token: 'Set SVC_TOKEN to another token, or unset it to use your session.',
  insufficient_scope: 'Unset SVC_TOKEN to use your session.',
  webhook_limit_reached:
    'Delete an unused webhook, or ask the operator for a grant (svc-server credits grant). Sign-up credits do not count.',
  fleet_limit_reached: 'Delete an unused fleet; svc fleets list shows them.',
  invalid_signature: 'Run svc login again; a message can be signed for 10 minutes.',
};

function nextStepsOf({ code, message, hint, details }: SvcError): string[] {
  if (typeof details.retry_after === 'number') {
    const retry = `Retry in ${details.retry_after} s.`;
    return message.includes(retry) ? [] : [retry];
  }
  const text = hint ?? (Object.hasOwn(nextSteps, code) ? nextSteps[code] : undefined);
  return text === undefined ? [] : [text];
}

/** Why there was no answer. The system's own message is not printed: it may contain an address with a secret. */
function causeOf({ code, cause }: SvcError): string {
  if (code !== 'service_unreachable') return '';
  for (let error = cause; error instanceof Error; error = error.cause) {
    if (error.name === 'TimeoutError') return ' The request timed out after 60 s.';
    if (error.message === 'unexpected redirect') {
      return ' It answered with a redirect, which svc does not follow.';
    }
    const { code: system } = error as NodeJS.ErrnoException;
    if (typeof system === 'string' && /^[A-Z][A-Z_]+$/.test(system)) return ` (${system})`;
  }
  return '';
}
