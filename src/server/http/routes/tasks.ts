// Handlers for tasks, completions and evidence.
import type { Proof } from '../../../proof/json-value.ts';
import type { TaskListItem } from '../../../protocol/resources.ts';
import { completeTask, refuseCompletion } from '../../core/completions.ts';
import type { Deps } from '../../core/deps.ts';
import { eraseProof, readBundle, readProof } from '../../core/evidence.ts';
import type { Page } from '../../core/paging.ts';
import { claimTask, listTasks, readTask } from '../../core/tasks.ts';
import type { Handlers } from '../server/call.ts';
import type { LongReads } from '../server/in-flight.ts';
import { createRequestAborts } from '../server/in-flight.ts';
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
