// Exit codes of `svc`, and which error ends with which code.
import { OUTPUT_CLOSED } from '../../base/run-program.ts';
import type { ErrorCode } from '../../protocol/errors.ts';

/** The same for every command. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notVerified: 3,
  signInNeeded: 4,
  notFound: 5,
  refused: 6,
  unreachable: 7,
  pending: 8,
  interrupted: 130,
  outputClosed: OUTPUT_CLOSED,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Texts of `svc help exit-codes`, in the order of the numbers. */
export const meanings: Record<keyof typeof exitCodes, string> = {
  done: 'done; with verify: verified',
  failed: 'failed, and no line below says it better',
  usage: 'wrong use: an option, an argument, or a value that the service refuses',
  notVerified: 'not verified: the chain does not hold what was claimed',
  signInNeeded: 'sign in first, or again',
  notFound: 'there is no such robot, fleet, task, proof …',
  refused: 'refused by a limit or by credits; the same may work later',
  unreachable: 'the service or the chain cannot be reached or read now',
  pending: 'not there yet; ask again later',
  interrupted: 'interrupted by Ctrl-C',
  outputClosed: 'the reader of standard output closed it before the end, such as head',
};

const { usage, signInNeeded, notFound, refused, unreachable, pending, failed } = exitCodes;

const codesOfService: Partial<Record<ErrorCode, ExitCode>> = {
  missing_api_key: signInNeeded,
  invalid_api_key: signInNeeded,
  missing_session: signInNeeded,
  invalid_session: signInNeeded,
  signup_refused: refused,
  rate_limited: refused,
  no_anchor_quota: refused,
  no_gas_credit: refused,
  fleet_limit_reached: refused,
  robot_limit_reached: refused,
  invalid_request: usage,
  invalid_address: usage,
  invalid_proof_hash: usage,
  payload_too_large: usage,
  not_found: notFound,
  completion_in_progress: pending,
  anchor_unconfirmed: pending,
  anchor_queued: pending,
  request_timeout: unreachable,
  chain_unavailable: unreachable,
  overloaded: unreachable,
  storage_unavailable: unreachable,
};

const codesOfErrors: Readonly<Record<string, ExitCode>> = {
  ...codesOfService,
  usage,
  ambiguous: usage,
  sign_in_needed: signInNeeded,
  still_pending: pending,
  unsound_bundle: exitCodes.notVerified,
  service_unreachable: unreachable,
  unexpected_answer: unreachable,
  interrupted: exitCodes.interrupted,
};

/** The exit code for an error code; `failed` if the table has none. */
export function exitCodeOf(errorCode: string): ExitCode {
  return (Object.hasOwn(codesOfErrors, errorCode) && codesOfErrors[errorCode]) || failed;
}
