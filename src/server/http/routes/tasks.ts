// Handlers for tasks, completions and evidence.
import type { FastifyRequest } from 'fastify';
import { SvcError } from '../../../base/svc-error.ts';
import type { Proof } from '../../../proof/json-value.ts';
import type { ErrorCode } from '../../../protocol/errors.ts';
import type { TaskListItem } from '../../../protocol/resources.ts';
import { type Body, routes } from '../../../protocol/routes.ts';
import { schemaError } from '../../../protocol/schema-error.ts';
import { completeTask, refuseCompletion } from '../../core/completions.ts';
import type { Deps } from '../../core/deps.ts';
import { eraseProof, readBundle, readProof } from '../../core/evidence.ts';
import type { Page } from '../../core/paging.ts';
import { type BatchItem, type ItemOutcome, runBatch } from '../../core/task-batch.ts';
import { claimTask, listTasks, readTask } from '../../core/tasks.ts';
import { wireError } from '../../ports/errors.ts';
import type { Handlers } from '../server/call.ts';
import { itemError } from '../server/errors.ts';
import type { LongReads } from '../server/in-flight.ts';
import { createRequestAborts } from '../server/in-flight.ts';
import { applyCount } from '../server/rate-limit-headers.ts';
import { Csv, wantsCsv } from '../server/representations.ts';

const taskColumns = [
  'id',
  'title',
  'description',
  'status',
  'created_at',
  'occurred_at',
  'robot_id',
  'anchor_state',
  'proof_hash',
  'tx_hash',
  'updated_at',
  'outcome',
];

/** A spreadsheet has no objects: the members of the anchor become columns. */
function flattened({ items, next_cursor }: Page<TaskListItem>) {
  return {
    items: items.map(({ anchor, ...task }) => ({
      ...anchor,
      anchor_state: anchor?.state,
      ...task,
    })),
    next_cursor,
  };
}

/** The items of a batch, each or why it is invalid. Throws `invalid` if the body around them is. */
function readItems(
  request: FastifyRequest,
  body: Body<'batchTasks'>,
  invalid: Error | undefined,
): (BatchItem | SvcError<ErrorCode>)[] {
  if (invalid === undefined) return body.items as BatchItem[]; // Validated by the route's schema.
  const [first] = (invalid as { validation?: { instancePath: string }[] }).validation ?? [];
  // Also if there is no body.
  if (!first?.instancePath.startsWith('/items/')) throw invalid;
  const isItem = request.compileValidationSchema(routes.batchTasks.body.properties.items.items);
  return body.items.map((item) => {
    if (isItem(item)) return item as BatchItem;
    const problem = { validation: isItem.errors ?? [], validationContext: 'item' };
    const error = schemaError(problem, routes.batchTasks);
    return wireError(error?.code ?? 'invalid_request', error?.message ?? '');
  });
}

/** An item with claim and completion has the members of both bodies. */
function viewOutcome({ claimed, completed, error }: ItemOutcome, request: FastifyRequest) {
  if (error !== undefined) {
    const refusal = itemError(error, request);
    return { ...refusal, body: { ...claimed, ...refusal.body } };
  }
  return { status: completed?.status ?? 201, body: { ...claimed, ...completed?.body } };
}

export function taskHandlers(deps: Deps, longReads: LongReads) {
  const wait = createRequestAborts(deps.stopping);
  return {
    async createTask({ caller, body, reply }) {
      const claim = await claimTask(deps, caller, body);
      reply.header('location', `/api/v1/tasks/${claim.task.id}`);
      return claim;
    },
    completeTask({ caller, params, body, invalid, request, reply }) {
      if (invalid) return refuseCompletion(deps, caller, params.id, invalid);
      const result = { ...body, proof: body.proof as Proof }; // Validated by the route's schema.
      return completeTask(deps, caller, params.id, result, (work) =>
        wait(request.raw.socket, work),
      ).then((answer) => {
        reply.status(answer.status);
        return answer.body;
      });
    },
    async batchTasks({ caller, query, body, invalid, request, reply }) {
      const items = readItems(request, body, invalid);
      const count = await deps.store.countBatch(caller.id, items.length);
      if (!count.allowed) applyCount(reply, count, 'tasks in batches');
      const valid = items.filter((item): item is BatchItem => !(item instanceof SvcError));
      const { outcomes, promise } = await wait(request.raw.socket, (enough) => {
        if (query.wait === '0') enough.abort();
        return runBatch(deps, caller, valid, (work) => work(enough));
      });
      const answers = outcomes.values();
      return {
        items: items.map((item) =>
          item instanceof SvcError
            ? itemError(item, request)
            : viewOutcome(answers.next().value as ItemOutcome, request),
        ),
        ...(promise !== undefined && { promise }),
      };
    },
    getTask: ({ caller, params }) => readTask(deps, params.id, caller),
    async listTasks({ caller, query, request }) {
      const read = (more = query) => longReads(caller.wallet, () => listTasks(deps, caller, more));
      if (!wantsCsv(request)) return read();
      return Csv.open(taskColumns, query, (more) => read(more).then(flattened));
    },
    getProof: ({ caller, params }) => readProof(deps, params.id, caller),
    eraseProof: ({ caller, params }) => eraseProof(deps, params.id, caller),
    getBundle: ({ caller, params, query }) => readBundle(deps, params.id, caller, query.format),
  } satisfies Partial<Handlers>;
}
