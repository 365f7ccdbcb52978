// Exit codes of `svc`, and which error ends with which code.
import { OUTPUT_CLOSED } from '../../base/run-program.ts';
import { type ErrorCode, inputErrors } from '../../protocol/errors.ts';

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
  unnamed: 9,
  notAllowed: 10,
  missing: 11,
  forked: 12,
  branched: 13,
  promiseBroken: 14,
  interrupted: 130,
  outputClosed: OUTPUT_CLOSED,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Texts of `svc help exit-codes`, in the order of the numbers. */
export const meanings: Record<keyof typeof exitCodes, string> = {
  done: 'success; with verify: verified',
  failed: 'any other failure',
  usage: 'invalid command line, file or value',
  notVerified:
    "not verified: a check failed (anchor, evidence, file, or a service's list of accounts), or the document has a member that svc does not know",
  signInNeeded: 'not signed in, or the session or account token has expired or was revoked',
  notFound:
    'not found: for example a robot, task, proof, token, webhook, alert, profile or saved service',
  refused: 'refused because of a limit or for lack of credits; the command can succeed later',
  unreachable: 'the service or the chain cannot be reached',
  pending:
    'not anchored yet, or not final yet, or the deadline of a promise is not past; run the command again later',
  unnamed:
    'with verify: svc could not check the sender, because neither you nor a service named the anchoring account',
  notAllowed:
    'not allowed: the account token or session may not do this, or the account is suspended',
  missing: 'a statement of the robot is missing or withheld',
  forked: 'one start of the agent signed two statements with one number',
  branched:
    'two starts of the agent continued the same statement: a restored or copied disk, or a second agent',
  promiseBroken: 'the service broke a promise, or kept it late',
  interrupted: 'interrupted by Ctrl-C',
  outputClosed: 'standard output was closed early, for example by head',
};

const { usage, signInNeeded, notFound, refused, unreachable, pending, notAllowed, failed } =
  exitCodes;

const codesOfService: Partial<Record<ErrorCode, ExitCode>> = {
  missing_api_key: signInNeeded,
  invalid_api_key: signInNeeded,
  missing_session: signInNeeded,
  invalid_session: signInNeeded,
  invalid_token: signInNeeded,
  account_suspended: notAllowed,
  insufficient_scope: notAllowed,
  wallet_session_required: notAllowed,
  signup_refused: refused,
  rate_limited: refused,
  no_anchor_quota: refused,
  no_gas_credit: refused,
  fleet_limit_reached: refused,
  robot_limit_reached: refused,
  token_limit_reached: refused,
  webhook_limit_reached: refused,
  storage_quota: refused,
  not_found: notFound,
  leaf_not_anchored: notFound,
  completion_in_progress: pending,
  anchor_unconfirmed: pending,
  anchor_queued: pending,
  request_timeout: unreachable,
  chain_unavailable: unreachable,
  overloaded: unreachable,
  storage_unavailable: unreachable,
};

const codesOfErrors: Readonly<Record<string, ExitCode>> = {
  ...Object.fromEntries(inputErrors.map((code) => [code, usage])),
  ...codesOfService,
  usage,
  no_service: usage,
  invalid_body: usage,
  invalid_document: usage,
  invalid_key: usage,
  invalid_rpc_url: usage,
  ambiguous: usage,
  sign_in_needed: signInNeeded,
  still_pending: pending,
  unsound_bundle: exitCodes.notVerified,
  unknown_member: exitCodes.notVerified,
  list_refused: exitCodes.notVerified,
  service_unreachable: unreachable,
  unexpected_answer: unreachable,
  interrupted: exitCodes.interrupted,
};

/** The exit code for an error code; `failed` if the table has none. */
export function exitCodeOf(errorCode: string): ExitCode {
  return (Object.hasOwn(codesOfErrors, errorCode) && codesOfErrors[errorCode]) || failed;
}
