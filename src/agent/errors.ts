// The error codes of the agent: those of the service and three of its own.
import { SvcError, type SvcErrorOptions } from '../base/svc-error.ts';
import { type ErrorCode, errors } from '../protocol/errors.ts';

/** Codes that the service does not have. */
export const agentErrors = {
  invalid_token: { status: 401, retryable: false },
  spool_full: { status: 507, retryable: true },
  service_unreachable: { status: 503, retryable: true },
} as const;

const table = { ...errors, ...agentErrors };

/** Every code that the local API can answer with. */
export type AgentErrorCode = ErrorCode | keyof typeof agentErrors;

export function isAgentErrorCode(code: string): code is AgentErrorCode {
  return Object.hasOwn(table, code);
}

/** HTTP status of a code. */
export function statusOf(code: AgentErrorCode): number {
  return table[code].status;
}

export function agentError(
  code: AgentErrorCode,
  message: string,
  options: Omit<SvcErrorOptions, 'retryable'> = {},
): SvcError<AgentErrorCode> {
  return new SvcError(code, message, { ...options, retryable: table[code].retryable });
}

/** What to do after the owner revoked the robot's signing key. */
export const KEY_REVOKED_HINT =
  'Run svc-agent identity create --replace; the owner then signs the new key.';

/** The error for a completion whose proof the service refused for good. */
export function setAsideError(aside: { task_id: string; code: string; message: string }): SvcError {
  const { task_id: task, code, message } = aside;
  return new SvcError(
    'set_aside',
    `Completion of task ${task} was set aside (${code}): ${message}`,
    {
      hint: 'Run svc-agent spool resend, or spool retarget to submit it for another task, or spool drop.',
    },
  );
}
