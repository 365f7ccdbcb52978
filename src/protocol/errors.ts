// The error table: code, status, whether to retry.
/**
 * Every error code of the service, once. The HTTP status, the documentation and the client's retries
 * derive from this table.
 *
 * `retryable` says whether the same request, unchanged, can succeed later.
 */
export const errors = {
  missing_api_key: { status: 401, retryable: false, summary: 'no robot API key was sent' },
  invalid_api_key: { status: 401, retryable: false, summary: 'the API key is unknown or revoked' },
  missing_session: { status: 401, retryable: false, summary: 'no session cookie was sent' },
  invalid_session: { status: 401, retryable: false, summary: 'the session is unknown or ended' },
  invalid_token: {
    status: 401,
    retryable: false,
    summary: 'the account token is unknown, expired or revoked',
  },
  invalid_signature: {
    status: 401,
    retryable: false,
    summary: 'the signature matches no open challenge of the wallet',
  },
  forbidden_origin: {
    status: 403,
    retryable: false,
    summary: 'the request comes from another site',
  },
  signup_refused: {
    status: 403,
    retryable: false,
    summary: 'the wallet does not meet the requirement for a new account',
  },
  account_suspended: {
    status: 403,
    retryable: true,
    summary: 'the account is suspended or being deleted; it can be read and not changed',
  },
  wallet_session_required: {
    status: 403,
    retryable: false,
    summary: 'the session was not opened with a wallet signature, or entered too many wrong codes',
  },
  insufficient_scope: {
    status: 403,
    retryable: false,
    summary: 'the account token may not call this endpoint',
  },
  rate_limited: { status: 429, retryable: true, summary: 'too many requests in this minute' },
  no_anchor_quota: {
    status: 402,
    retryable: true,
    summary: 'the account has no anchor quota left',
  },
  no_gas_credit: {
    status: 402,
    retryable: true,
    summary: 'the gas credit does not cover an anchor',
  },
  invalid_json: { status: 400, retryable: false, summary: 'the body is not valid JSON' },
  invalid_request: {
    status: 400,
    retryable: false,
    summary: 'the body, path or query does not match its schema',
  },
  invalid_proof: {
    status: 400,
    retryable: false,
    summary:
      'the evidence is JSON that two parsers may read differently, for example because of a duplicate member name',
  },
  invalid_proof_hash: { status: 400, retryable: false, summary: 'the proof hash is malformed' },
  invalid_address: { status: 400, retryable: false, summary: 'the wallet address is malformed' },
  invalid_code: {
    status: 400,
    retryable: false,
    summary: 'the code is unknown, used, refused or expired',
  },
  authorization_pending: {
    status: 400,
    retryable: false,
    summary: 'the code was not allowed yet; repeat the request after the interval',
  },
  invalid_chain_id: { status: 400, retryable: false, summary: 'chainId is not a positive integer' },
  invalid_sample: { status: 400, retryable: false, summary: 'a telemetry sample is malformed' },
  batch_too_large: { status: 413, retryable: false, summary: 'more than 50 telemetry samples' },
  invalid_event_type: { status: 400, retryable: false, summary: 'the event_type is malformed' },
  invalid_severity: {
    status: 400,
    retryable: false,
    summary: 'the severity is not info, warn or error',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    summary: 'the endpoint has other methods',
  },
  not_found: { status: 404, retryable: false, summary: 'the resource does not exist' },
  request_timeout: { status: 408, retryable: true, summary: 'the request took too long to arrive' },
  already_completed: { status: 409, retryable: false, summary: 'the task is already completed' },
  completion_in_progress: {
    status: 409,
    retryable: false,
    summary: 'a completion of the task is still being anchored; poll the task',
  },
  id_conflict: {
    status: 409,
    retryable: false,
    summary: 'the id is already used with other content',
  },
  fleet_limit_reached: { status: 409, retryable: false, summary: 'the account has 100 fleets' },
  robot_limit_reached: { status: 409, retryable: false, summary: 'the account has 500 robots' },
  storage_quota: {
    status: 409,
    retryable: true,
    summary: 'the account has no storage left; nothing was stored',
  },
  token_limit_reached: { status: 409, retryable: false, summary: 'the account has 50 tokens' },
  webhook_limit_reached: {
    status: 409,
    retryable: false,
    summary: 'the account has 10 webhooks, or one and no recent grant',
  },
  webhook_url_refused: {
    status: 400,
    retryable: false,
    summary: 'the URL of the webhook is not https, has credentials, or is not a public address',
  },
  webhooks_off: {
    status: 409,
    retryable: false,
    summary: 'the operator has not set SVC_WEBHOOK_KEY_FILE',
  },
  precondition_failed: {
    status: 412,
    retryable: false,
    summary: 'the file of a page does not meet If-Match or If-Unmodified-Since',
  },
  invalid_range: {
    status: 416,
    retryable: false,
    summary: 'the Range begins after the end of the file',
  },
  payload_too_large: {
    status: 413,
    retryable: false,
    summary: 'the body or a document in it exceeds its size limit',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    summary: 'the body is not application/json',
  },
  headers_too_large: {
    status: 431,
    retryable: false,
    summary: 'the request headers are too large',
  },
  internal_error: {
    status: 500,
    retryable: true,
    summary: 'unexpected error; the message contains the request id',
  },
  anchoring_failed: {
    status: 502,
    retryable: true,
    summary: 'the chain refused the anchor before it was signed; nothing was charged',
  },
  anchor_unconfirmed: {
    status: 202,
    retryable: false,
    summary: 'the anchor was submitted and is not confirmed yet; poll the task',
  },
  anchor_queued: {
    status: 202,
    retryable: false,
    summary: 'the proof is stored, and the service anchors it as soon as it can; poll the task',
  },
  chain_unavailable: { status: 503, retryable: true, summary: 'the chain cannot be read now' },
  overloaded: {
    status: 503,
    retryable: true,
    summary: 'too many requests are in progress; nothing was done',
  },
  storage_unavailable: {
    status: 503,
    retryable: true,
    summary: 'the database failed and the outcome is unknown; retry with the same id',
  },
} as const satisfies Record<string, { status: number; retryable: boolean; summary: string }>;

export type ErrorCode = keyof typeof errors;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errors, code);
}
