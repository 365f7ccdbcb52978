import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from './errors.ts';
import {
  Address,
  CallerTimestamp,
  Closed,
  Hash,
  JsonObject,
  Nullable,
  Text,
  Url,
  Uuid,
  VisibleText,
} from './fields.ts';
import { limits } from './limits.ts';
import {
  Anchor,
  ApiKey,
  ChainDetails,
  PublicVerification,
  Robot,
  Task,
  TaskDetail,
  Verification,
} from './resources.ts';

/**
 * One endpoint. Server registration, the client and the documentation derive from these rows.
 *
 * - `access`: who may call. `robot_or_session` takes a Bearer key if one is sent, else the cookie.
 * - `limit`: whose counter a call consumes; `none` where nothing is metered.
 * - `maxBody`: bytes of the largest body, where one may be sent.
 * - `document`: the member of the body that may be any JSON, and its limit in bytes of canonical form.
 * - `fieldErrors`: the code for any fault of that body or path field; every other fault of shape
 *   is `invalid_request`.
 * - `errors`: codes of this endpoint beside those that its access, limit and body imply.
 */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  summary: string;
  access: 'public' | 'robot' | 'session' | 'robot_or_session';
  limit: 'robot' | 'account' | 'challenge' | 'none';
  /** Any origin may read the answer. */
  cors?: true;
  params?: TObject;
  query?: TObject;
  body?: TObject;
  maxBody?: number;
  document?: { field: string; maxBytes: number };
  fieldErrors?: Readonly<Record<string, ErrorCode>>;
  responses: Readonly<Record<number, TSchema>>;
  errors: readonly ErrorCode[];
}

const Id = Closed({ id: Uuid });

/** Any JSON array or object; `src/proof` holds the stricter rules. */
const Proof = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Array(Type.Unknown())]);

const Unconfirmed = Closed({
  error: Type.Literal('anchor_unconfirmed'),
  message: Type.String(),
  proof_hash: Hash,
  tx_hash: Hash,
  explorer_url: Url,
});

const Readiness = Closed({
  status: Type.Union([Type.Literal('ready'), Type.Literal('degraded')]),
  degraded: Type.Array(Type.String()),
});

function page<Item extends TSchema>(item: Item) {
  return Closed({ items: Type.Array(item), next_cursor: Nullable(Type.String()) });
}

const PageQuery = {
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9]|[1-9]\\d|1\\d\\d|200)$',
      description: '1 to 200, 50 if absent',
    }),
  ),
  cursor: Type.Optional(Uuid),
};

export const routes = {
  createChallenge: {
    method: 'POST',
    path: '/api/auth/challenge',
    summary: 'Ask for the message that a wallet signs to sign in',
    access: 'public',
    limit: 'challenge',
    body: Closed({
      address: Address,
      chainId: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    }),
    maxBody: limits.smallBodyBytes,
    fieldErrors: { address: 'invalid_address', chainId: 'invalid_chain_id' },
    responses: { 200: Closed({ message: Type.String() }) },
    errors: [],
  },
  verifySignature: {
    method: 'POST',
    path: '/api/auth/verify',
    summary: 'Sign in with the signature of a challenge',
    access: 'public',
    limit: 'none',
    body: Closed({
      address: Address,
      signature: Type.String({
        pattern: '^0x([0-9a-fA-F]{2})+$',
        maxLength: 2 + 2 * limits.signatureBytes,
        description: '0x-prefixed hex',
      }),
    }),
    maxBody: limits.smallBodyBytes,
    fieldErrors: { address: 'invalid_address' },
    responses: {
      200: Closed({
        signed_in: Type.Boolean(),
        wallet: Address,
        gate: Closed({ holds: Type.Boolean() }),
      }),
    },
    errors: ['invalid_signature', 'signup_refused', 'chain_unavailable'],
  },
  signOut: {
    method: 'POST',
    path: '/api/auth/logout',
    summary: 'Revoke the session, if there is one',
    access: 'public',
    limit: 'none',
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ signed_out: Type.Literal(true) }) },
    errors: [],
  },
  getChain: {
    method: 'GET',
    path: '/api/chain',
    summary: 'Details of the anchoring network, in the shape wallets take',
    access: 'public',
    limit: 'none',
    cors: true,
    responses: { 200: ChainDetails },
    errors: ['chain_unavailable'],
  },
  verifyProofHash: {
    method: 'GET',
    path: '/api/v1/verify/:proofHash',
    summary: 'Check a proof hash against the chain, read anew',
    access: 'public',
    limit: 'none',
    cors: true,
    params: Closed({
      proofHash: Type.String({
        pattern: '^0x[0-9a-fA-F]{64}$',
        description: '32 bytes, 0x-prefixed hex in any case',
      }),
    }),
    query: Closed({ task_id: Type.Optional(Uuid) }),
    fieldErrors: { proofHash: 'invalid_proof_hash' },
    responses: { 200: PublicVerification },
    errors: ['not_found', 'chain_unavailable'],
  },
  createRobot: {
    method: 'POST',
    path: '/api/v1/robots',
    summary: 'Register a robot; its API key is shown in this answer only',
    access: 'session',
    limit: 'account',
    body: Closed({
      name: VisibleText(limits.nameLength),
      description: Type.Optional(Text(limits.descriptionLength)),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 201: Closed({ robot: Robot, api_key: ApiKey }) },
    errors: ['robot_limit_reached'],
  },
  listRobots: {
    method: 'GET',
    path: '/api/v1/robots',
    summary: "List the account's robots, oldest first",
    access: 'session',
    limit: 'none',
    query: Closed(PageQuery),
    responses: { 200: page(Robot) },
    errors: [],
  },
  createTask: {
    method: 'POST',
    path: '/api/v1/tasks',
    summary:
      'Claim a task before the work starts; once its proof is handed in, whoever knows the proof hash can read its title and the name of the robot',
    access: 'robot',
    limit: 'robot',
    body: Closed({
      id: Type.Optional(Uuid),
      title: VisibleText(limits.titleLength),
      description: Type.Optional(Text(limits.descriptionLength)),
      expected_result: Type.Optional(JsonObject),
      occurred_at: Type.Optional(CallerTimestamp),
    }),
    maxBody: limits.bodyBytes,
    document: { field: 'expected_result', maxBytes: limits.expectedResultBytes },
    responses: { 201: Closed({ task: Task, next: Type.String() }) },
    errors: ['id_conflict'],
  },
  completeTask: {
    method: 'POST',
    path: '/api/v1/tasks/:id/complete',
    summary: 'Hand in the proof and wait for its hash to be anchored',
    access: 'robot',
    limit: 'robot',
    params: Id,
    body: Closed({ proof: Proof }),
    maxBody: limits.bodyBytes,
    document: { field: 'proof', maxBytes: limits.proofBytes },
    fieldErrors: { proof: 'invalid_proof' },
    responses: { 200: Closed({ verification: Verification }), 202: Unconfirmed },
    errors: [
      'not_found',
      'already_completed',
      'completion_in_progress',
      'no_anchor_quota',
      'no_gas_credit',
      'anchoring_failed',
      'anchor_queued',
      'chain_unavailable',
    ],
  },
  getTask: {
    method: 'GET',
    path: '/api/v1/tasks/:id',
    summary: 'Read a task, the state of its anchor and its verification receipt',
    access: 'robot_or_session',
    limit: 'robot',
    params: Id,
    responses: {
      200: Closed({
        task: TaskDetail,
        anchor: Nullable(Anchor),
        verification: Nullable(Verification),
      }),
    },
    errors: ['not_found'],
  },
  getHealth: {
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the process is up',
    access: 'public',
    limit: 'none',
    responses: { 200: Closed({ status: Type.Literal('up') }) },
    errors: [],
  },
  getReadiness: {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the service can take requests; 503 only for the database or a shutdown',
    access: 'public',
    limit: 'none',
    responses: { 200: Readiness },
    errors: ['storage_unavailable'],
  },
} as const satisfies Record<string, Route>;

export type Routes = typeof routes;
export type RouteName = keyof Routes;

type Field<Name extends RouteName, Key extends 'params' | 'query' | 'body'> =
  Routes[Name] extends Record<Key, infer Schema extends TSchema> ? Static<Schema> : undefined;

export type Params<Name extends RouteName> = Field<Name, 'params'>;
export type Query<Name extends RouteName> = Field<Name, 'query'>;
export type Body<Name extends RouteName> = Field<Name, 'body'>;

/** An answer that is not an error: status and body together, so that one decides the other. */
export type Answer<Name extends RouteName> = {
  [Status in keyof Routes[Name]['responses']]: {
    status: Status;
    body: Routes[Name]['responses'][Status] extends infer Schema extends TSchema
      ? Static<Schema>
      : never;
  };
}[keyof Routes[Name]['responses']];

/** Every error: specification, section 7; some codes add members of their own. */
export const ErrorBody = Type.Object({
  error: Type.String(),
  message: Type.String(),
  retry_after: Type.Optional(Type.Integer({ minimum: 1 })),
  proof_hash: Type.Optional(Hash),
  verification: Type.Optional(Verification),
});
