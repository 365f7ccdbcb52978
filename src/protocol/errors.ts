// The error table: code, status, whether to retry.

/** An error with which the same request, unchanged, always ends. */
const permanent = (status: number, summary: string) => ({ status, retryable: false, summary });

/** An error after which the same request, unchanged, can succeed later. */
const retryable = (status: number, summary: string) => ({ status, retryable: true, summary });

/**
 * Every error code of the service, once. The HTTP status, the documentation and the client's retries
 * derive from this table.
 */
export const errors = {
  missing_api_key: permanent(401, 'no robot API key was sent'),
  invalid_api_key: permanent(401, 'the API key is unknown or revoked'),
  missing_session: permanent(401, 'neither a session cookie nor an account token was sent'),
  invalid_session: permanent(401, 'the session is unknown or ended'),
  invalid_token: permanent(401, 'the account token is unknown, expired or revoked'),
  invalid_signature: permanent(401, 'the signature matches no open challenge of the wallet'),
  statement_required: permanent(
    403,
    'the robot signs its work, and the request has no valid statement; nothing was stored',
  ),
  forbidden_origin: permanent(403, 'the request comes from another site'),
  signup_refused: permanent(403, 'the wallet lacks the token that a new account requires'),
  account_suspended: retryable(
    403,
    'the account is suspended or being deleted, so calls cannot change its data',
  ),
  wallet_session_required: permanent(
    403,
    'the session was not opened with a wallet signature, or too many wrong user codes were entered in the session',
  ),
  insufficient_scope: permanent(403, 'the account token may not call this endpoint'),
  rate_limited: retryable(429, 'too many requests in this minute'),
  no_anchor_quota: retryable(402, 'the account has no anchor quota left'),
  no_gas_credit: retryable(402, 'the gas credit does not cover an anchor'),
  invalid_json: permanent(400, 'the body is not valid JSON'),
  invalid_request: permanent(400, 'the body, path or query does not match its schema'),
  invalid_proof: permanent(
    400,
    'the evidence is JSON that two parsers may read differently, for example because of a duplicate member name',
  ),
  invalid_proof_hash: permanent(400, 'the proof hash is malformed'),
  invalid_key: permanent(400, 'the public key has a form that no statement may be signed with'),
  invalid_key_text: permanent(
    400,
    'the text does not put a key of this robot into use or out of use',
  ),
  invalid_address: permanent(400, 'the wallet address is malformed'),
  invalid_code: permanent(
    400,
    'the user code or device code of a command-line sign-in is unknown, used, refused or expired',
  ),
  authorization_pending: retryable(
    400,
    'the owner has not allowed the command-line sign-in yet; ask again after `interval` seconds',
  ),
  invalid_chain_id: permanent(400, 'chainId is not a positive integer'),
  invalid_sample: permanent(400, 'a telemetry sample is malformed'),
  batch_too_large: permanent(413, 'the request has more than 50 telemetry samples'),
  invalid_event_type: permanent(400, 'the event_type is malformed'),
  invalid_severity: permanent(400, 'the severity is not info, warn or error'),
  method_not_allowed: permanent(405, 'the endpoint does not support this method'),
  not_found: permanent(404, 'the resource does not exist, or the caller may not read it'),
  leaf_not_anchored: permanent(404, 'the leaf of a promise is in no block yet'),
  request_timeout: retryable(408, 'the request took too long to arrive'),
  already_completed: permanent(409, 'the task is already completed'),
  completion_in_progress: permanent(
    409,
    'a completion of the task is still being anchored; poll the task',
  ),
  id_conflict: permanent(409, 'the id is already used with other content'),
  statement_conflict: permanent(
    409,
    'the robot signed another statement with this number in the same epoch; both are kept',
  ),
  fleet_limit_reached: permanent(409, 'the account has 100 fleets'),
  robot_limit_reached: permanent(409, 'the account has 500 robots'),
  storage_quota: retryable(409, 'the account has no storage left; nothing was stored'),
  token_limit_reached: permanent(409, 'the account has 50 tokens'),
  webhook_limit_reached: permanent(
    409,
    'the account has 10 webhooks, or 1 webhook if the operator granted the account no credits in the last 90 days',
  ),
  webhook_url_refused: permanent(
    400,
    'the URL of the webhook is not https, has credentials, or has an address that is not public',
  ),
  webhooks_off: permanent(409, 'the operator has not set SVC_WEBHOOK_KEY_FILE'),
  precondition_failed: permanent(
    412,
    'a static file does not satisfy If-Match or If-Unmodified-Since',
  ),
  invalid_range: permanent(416, 'the Range begins after the end of the file'),
  payload_too_large: permanent(413, 'the body or a document in it exceeds its size limit'),
  unsupported_media_type: permanent(415, 'the body is not application/json'),
  headers_too_large: permanent(431, 'the request headers are too large'),
  internal_error: retryable(500, 'unexpected error; the message contains the request id'),
  anchoring_failed: retryable(
    502,
    'the nodes reported that the anchor would fail, so the service did not sign the anchor; nothing was charged',
  ),
  anchor_unconfirmed: permanent(
    202,
    'from the service: the service stored the evidence and sent the anchor to the chain, and the anchor is not confirmed yet; poll the task. From svc-agent: the evidence is stored on the robot, and the member `state` says whether the service also has the evidence',
  ),
  anchor_queued: permanent(
    202,
    'the evidence is stored, but the service has not sent the anchor yet; poll the task',
  ),
  chain_unavailable: retryable(503, 'the chain cannot be read now'),
  overloaded: retryable(
    503,
    'too many requests are in progress, too many command-line sign-ins are open, or the RPC calls that the service or its provider allows for verification are used up; nothing was done',
  ),
  storage_unavailable: retryable(
    503,
    'the database failed or is not available, the disk is almost full, or the service is stopping. The write may have been stored; retry with the same id',
  ),
};

export type ErrorCode = keyof typeof errors;

/** The codes of input that the service refuses. */
export const inputErrors = Object.keys(errors)
  .filter(isErrorCode)
  .filter((code) => errors[code].status === 400 || errors[code].status === 413);

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errors, code);
}
