// Schemas of tasks, anchors, robots, the chain and public verification.
import { type Static, Type } from 'typebox';
import {
  Address,
  Closed,
  Decimal,
  Hash,
  JsonObject,
  Nullable,
  OneOf,
  Text,
  Timestamp,
  Url,
  Uuid,
  VisibleText,
} from './fields.ts';
import { limits } from './limits.ts';

export const TaskStatus = { ...OneOf(['claimed', 'verified']), examples: ['verified'] };

export const TaskOutcome = OneOf(
  ['succeeded', 'failed', 'aborted'],
  'how the work ended, as the robot states it',
);

/** A task in the response of `POST /api/v1/tasks` (docs/http-api.md). */
export const Task = Closed({
  id: Uuid,
  title: VisibleText(limits.titleLength),
  description: Nullable(Text(limits.descriptionLength)),
  status: OneOf(['claimed', 'verified']),
  created_at: Timestamp,
});

const CreditRefusedAt = Nullable(
  Type.String({
    ...Timestamp,
    description: 'when a completion was first refused for lack of credit',
  }),
);

const stored = {
  status: TaskStatus,
  occurred_at: Nullable(Type.String({ examples: ['2026-11-20T19:56:45.000Z'] })),
  robot_id: Uuid,
  credit_refused_at: CreditRefusedAt,
  outcome: Nullable(TaskOutcome),
};

/** A task in the response of `GET /api/v1/tasks/:id`. */
export const TaskDetail = Closed({
  ...Task.properties,
  expected_result: Nullable(JsonObject),
  ...stored,
});

/** Any JSON array or object. `src/proof` applies the stricter rules. */
export const Proof = Type.Union([
  Type.Record(Type.String(), Type.Unknown()),
  Type.Array(Type.Unknown()),
]);

/** The position of a proof's leaf in the tree of its batch; null if the proof was anchored alone. */
export const Inclusion = Closed({
  root: Hash,
  leaf_index: Type.Integer({ minimum: 0 }),
  leaf_count: Type.Integer({ minimum: 2 }),
  path: Type.Array(Hash),
});

const Hex = Type.String({
  pattern: '^0x([0-9a-fA-F]{2})*$',
  description: 'hex with the prefix 0x',
});

export const Finality = OneOf(['included', 'safe', 'finalized', 'reorged']);

const receipt = {
  task_id: Uuid,
  robot_id: Uuid,
  status: Type.Literal('verified'),
  proof_hash: Hash,
  tx_hash: Hash,
  block_number: Decimal,
  anchored_at: Timestamp,
  explorer_url: Url,
  chain_id: Type.Integer({ minimum: 1 }),
  claim_hash: Hash,
  inclusion: Nullable(Inclusion),
  finality: Finality,
};

/** The receipt of a verified task (docs/anchoring.md); the second form if the robot signed the work. */
export const Verification = Type.Union([
  Closed({ format: Type.Literal('svc-receipt/1'), ...receipt }),
  Closed({ format: Type.Literal('svc-receipt/2'), ...receipt, statement_hash: Hash }),
]);

const states = ['queued', 'submitted', 'included', 'finalized', 'reorged', 'failed'] as const;

export const AnchorState = { ...OneOf(states), examples: ['included'] };

/** The filter of the task list: an anchor's state, or `refused` for tasks that wait for credit, or `overdue`. */
export const AnchorFilter = OneOf<AnchorState | 'refused' | 'overdue'>(
  [...states, 'refused', 'overdue'],
  'state of the anchor. failed: the nodes reported that the anchor would fail, so the service did not sign the anchor. refused: the service refused the completion for lack of credit, and did not store the evidence. overdue: the evidence is not anchored, although the time is over by which the service promised it',
);

/** The state of a task's anchor. The transaction is null until one is signed. */
export const Anchor = Closed({
  state: AnchorState,
  proof_hash: Hash,
  tx_hash: Nullable(Hash),
  explorer_url: Nullable(Url),
  attempts: Type.Integer({ minimum: 0, examples: [1] }),
  accepted_at: Nullable(
    Type.String({ ...Timestamp, description: 'when the service accepted the evidence' }),
  ),
  anchored_by: Nullable(
    Type.String({
      ...Timestamp,
      description: 'when the service promises the anchor at the latest',
    }),
  ),
  updated_at: Timestamp,
});

/** A task in a list, without `expected_result`. */
export const TaskListItem = Closed({ ...Task.properties, ...stored, anchor: Nullable(Anchor) });

export const Robot = Closed({
  id: Uuid,
  name: VisibleText(limits.nameLength),
  description: Nullable(Text(limits.descriptionLength)),
  fleet_id: Nullable(Uuid),
  key_hint: Nullable(
    Type.String({
      pattern: '^[0-9a-f]{8}$',
      description: "first 8 hex digits of the key's SHA-256",
    }),
  ),
  created_at: Timestamp,
  updated_at: Timestamp,
  last_seen_at: Nullable(Timestamp),
  battery_pct: Nullable(Type.Number()),
  battery_low_since: Nullable(Timestamp),
  state: Nullable(Type.String()),
  state_since: Nullable(Timestamp),
  state_at: Nullable({ ...Timestamp, description: 'when the robot last reported a state' }),
  clock_behind_s: Nullable(
    Type.Integer({
      minimum: 0,
      description:
        "by how much the robot's clock is behind, if its newest samples were late by the same time, at least 5 minutes",
    }),
  ),
  last_error: Nullable(
    Closed({
      event_id: Uuid,
      event_type: Type.String(),
      message: Type.String({ description: 'its first 200 characters' }),
      occurred_at: Nullable(Type.String()),
      created_at: Timestamp,
    }),
  ),
  current_task: Nullable(Closed({ id: Uuid, title: Type.String(), created_at: Timestamp })),
});

export const ApiKey = Type.String({
  pattern: '^svc_[0-9a-f]{40}$',
  examples: [`svc_${'0123456789'.repeat(4)}`],
});

/** Network details (docs/http-api.md); `params` fits `wallet_addEthereumChain`. */
export const ChainDetails = Closed({
  chain_id: Type.Integer({ minimum: 1 }),
  name: Type.String(),
  testnet: Type.Boolean(),
  explorer_url: Url,
  params: Closed({
    chainId: Type.String({ pattern: '^0x(0|[1-9a-f][0-9a-f]*)$', examples: ['0x7a69'] }),
    chainName: Type.String(),
    nativeCurrency: Closed({
      name: Type.String(),
      symbol: Type.String(),
      decimals: Type.Integer(),
    }),
    rpcUrls: Type.Array(Url),
    blockExplorerUrls: Type.Array(Url),
  }),
  anchor_addresses: Type.Array(Type.String(), {
    description: 'every account that has sent anchors for this service',
  }),
});

/** Public verification of a proof hash (docs/http-api.md). */
export const PublicVerification = Closed({
  verified: Type.Boolean(),
  proof_hash: Hash,
  task: Closed({
    id: Uuid,
    title: Type.String(),
    robot: Type.String(),
    status: TaskStatus,
    robot_id: Uuid,
    claim_hash: Hash,
    statement_hash: Type.Optional(
      Type.String({
        ...Hash,
        description:
          'SHA-256 of the statement of the result; absent if the robot did not sign the work',
      }),
    ),
  }),
  anchor: Closed({
    tx_hash: Nullable(Hash),
    block_number: Nullable(Decimal),
    anchored_at: Nullable(Timestamp),
    explorer_url: Nullable(Url),
    on_chain_payload_found: Type.Boolean(),
    chain_id: Type.Integer(),
    from: Nullable(Address),
    inclusion: Nullable(Inclusion),
    confirmations: Nullable(Decimal),
    finality: Nullable(Finality),
  }),
  occurrences: Type.Integer({ minimum: 1 }),
  checked_at: Timestamp,
});

/** The data of a node about a transaction; null if the node does not know it. */
export const AnchorTransaction = Closed({
  chain_id: Type.Integer({ minimum: 1 }),
  tx: Nullable(
    Closed({
      hash: Hash,
      from: Hex,
      to: Nullable(Hex),
      value: Decimal,
      input: Hex,
    }),
  ),
  receipt: Nullable(
    Closed({
      status: OneOf(['success', 'reverted']),
      block_number: Decimal,
      block_hash: Hash,
      tx_index: Type.Integer({ minimum: 0 }),
    }),
  ),
  canonical_block: Nullable(Closed({ hash: Hash, number: Decimal, timestamp: Timestamp })),
  confirmations: Nullable(Decimal),
  finality: Nullable(Finality),
  checked_at: Timestamp,
});

export type Task = Static<typeof Task>;
export type TaskDetail = Static<typeof TaskDetail>;
export type TaskOutcome = Static<typeof TaskOutcome>;
export type TaskListItem = Static<typeof TaskListItem>;
export type Inclusion = Static<typeof Inclusion>;
export type Finality = Static<typeof Finality>;
export type Verification = Static<typeof Verification>;
export type AnchorState = Static<typeof AnchorState>;
export type Anchor = Static<typeof Anchor>;
export type Robot = Static<typeof Robot>;
export type ChainDetails = Static<typeof ChainDetails>;
export type PublicVerification = Static<typeof PublicVerification>;
export type AnchorTransaction = Static<typeof AnchorTransaction>;
