// Routes of tasks and completions.
import { Type } from 'typebox';
import {
  CallerTimestamp,
  Closed,
  Hash,
  JsonObject,
  Nullable,
  Text,
  Url,
  Uuid,
  VisibleText,
} from '../fields.ts';
import { SignedDocument } from '../identity.ts';
import { limits } from '../limits.ts';
import { Id, PageQuery, PeriodQuery, page, TimeCursor } from '../paging.ts';
import {
  Anchor,
  AnchorFilter,
  Proof,
  Task,
  TaskDetail,
  TaskListItem,
  TaskOutcome,
  TaskStatus,
  Verification,
} from '../resources.ts';
import { type Route, robotChange, taskRead, taskReadById } from '../route.ts';

/** `error` is no failure here. The interface specification fixes the member; `status` is for clients that test for it. */
const Unconfirmed = Closed({
  status: Type.Literal('pending'),
  error: Type.Literal('anchor_unconfirmed'),
  message: Type.String(),
  proof_hash: Hash,
  tx_hash: Hash,
  explorer_url: Url,
  promise: Type.Optional(SignedDocument),
});

/** Nothing is submitted yet. */
const Queued = Closed({
  status: Type.Literal('pending'),
  error: Type.Literal('anchor_queued'),
  message: Type.String(),
  proof_hash: Hash,
  tx_hash: Type.Null(),
  explorer_url: Type.Null(),
  promise: Type.Optional(SignedDocument),
});

/** With both hashes, the service computes the leaf that it promised. `statement_hash`: SHA-256 of the result's JWS. */
const PromisedWork = Closed({
  promise: SignedDocument,
  proof_hash: Hash,
  statement_hash: Nullable(Hash),
});

const Claim = {
  title: VisibleText(limits.titleLength),
  description: Type.Optional(Text(limits.descriptionLength)),
  expected_result: Type.Optional(JsonObject),
  occurred_at: Type.Optional(CallerTimestamp),
  statement: Type.Optional(SignedDocument),
  promised: Type.Optional(PromisedWork),
};

const Completion = Closed({
  proof: Proof,
  outcome: Type.Optional(TaskOutcome),
  statement: Type.Optional(SignedDocument),
});

const BatchItem = Type.Object(
  { id: Uuid, claim: Type.Optional(Closed(Claim)), completion: Type.Optional(Completion) },
  { additionalProperties: false, minProperties: 2 },
);

/** The members of the answers and errors of the single calls. An interface is cheap to compile. */
export interface ItemBody {
  task?: Task;
  next?: string;
  verification?: Verification;
  status?: 'pending';
  error?: string;
  message?: string;
  proof_hash?: string;
  tx_hash?: string | null;
  explorer_url?: string | null;
  same_evidence?: boolean | null;
}

/** `status` and `body` as of the single calls. `body` of both has the members of both. */
const BatchAnswer = Closed({
  status: Type.Integer(),
  body: Type.Unsafe<ItemBody>(Type.Object({}, { additionalProperties: true })),
  retry_after_ms: Type.Optional(Type.Integer({ minimum: 0 })),
});

export const taskRoutes = {
  createTask: {
    ...robotChange,
    path: '/api/v1/tasks',
    summary:
      'Claim a task before the work starts. After the completion, anyone with the proof hash can read the title of the task and the name of the robot',
    body: Closed({ id: Type.Optional(Uuid), ...Claim }),
    document: { field: 'expected_result', maxBytes: limits.expectedResultBytes },
    responses: { 201: Closed({ task: Task, next: Type.String() }) },
    errors: ['id_conflict', 'storage_quota', 'statement_required', 'statement_conflict'],
  },
  completeTask: {
    ...robotChange,
    path: '/api/v1/tasks/:id/complete',
    summary:
      'Submit the evidence of a task as `proof`. The service waits until the hash of the evidence is anchored, at most for SVC_ANCHOR_TIMEOUT_MS',
    params: Id,
    body: Completion,
    document: { field: 'proof', maxBytes: limits.proofBytes },
    fieldErrors: { proof: 'invalid_proof' },
    lateValidation: true,
    responses: {
      200: Closed({ verification: Verification }),
      202: Type.Union([Unconfirmed, Queued]),
    },
    errors: [
      'not_found',
      'statement_required',
      'statement_conflict',
      'already_completed',
      'completion_in_progress',
      'no_anchor_quota',
      'no_gas_credit',
      'anchoring_failed',
      'chain_unavailable',
    ],
  },
  batchTasks: {
    ...robotChange,
    path: '/api/v1/tasks/batch',
    summary: 'Claim and complete up to 50 tasks in one call',
    description: `Each item has a claim, a completion, or both, and gets the status and body of the single call, in the order of the request. Each succeeds or fails by itself; a refused claim skips its completion. Send the same call again after a failure: nothing is done twice. With \`wait=0\`, the service does not wait for anchors. Above ${limits.batchItemsPerWindow} items of a robot per minute, the response is 429, and nothing was done.`,
    query: Closed({ wait: Type.Optional(Type.Literal('0')) }),
    body: Closed({ items: Type.Array(BatchItem, { minItems: 1, maxItems: limits.batchItems }) }),
    maxValues: limits.batchValues,
    documentLevels: 4,
    lateValidation: true,
    responses: {
      200: Closed({
        items: Type.Array(BatchAnswer),
        /** For all items that wait for their anchors. */
        promise: Type.Optional(SignedDocument),
      }),
    },
    errors: [],
  },
  listTasks: {
    ...taskRead,
    path: '/api/v1/tasks',
    summary: "List the tasks of the account's robots, newest first",
    description:
      'With a robot key, list only the tasks of the robot that has this key. Items have no `expected_result`. With a filter, a page may have fewer items than `limit`: continue until `next_cursor` is null. With `Accept: text/csv`, the response is one CSV table with all matching tasks, without pages.',
    query: Closed({
      ...PageQuery,
      ...PeriodQuery,
      cursor: Type.Optional(TimeCursor),
      status: Type.Optional(TaskStatus),
      state: Type.Optional(AnchorFilter),
      search: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: limits.titleLength,
          description:
            'only tasks with this text in the title, in any case, or at the beginning of their id, proof hash or transaction hash',
        }),
      ),
      robot_id: Type.Optional(Uuid),
      fleet_id: Type.Optional(Uuid),
    }),
    responses: { 200: page(TaskListItem) },
    errors: ['not_found'],
  },
  getTask: {
    ...taskReadById,
    path: '/api/v1/tasks/:id',
    summary: 'Read a task, the state of its anchor and its receipt',
    responses: {
      200: Closed({
        task: TaskDetail,
        anchor: Nullable(Anchor),
        verification: Nullable(Verification),
      }),
    },
  },
} as const satisfies Record<string, Route>;
