// Shares reads between concurrent requests: those that arrive while one runs get the result of the next.

import { batching } from '../../../base/async/batching.ts';
import type { Store } from '../../ports/store.ts';
import type { TaskRecord, Viewer } from '../../ports/tasks.ts';
import { sql } from '../db/sql.ts';
import { TASK_COLUMNS, TASK_JOINS, type TaskRow, toTask } from '../tasks.ts';
import type { PostgresDb } from './engine/database.ts';

const GROUPS_AT_ONCE = 2;
const TASKS_AT_ONCE = 64;

/** Every completion makes these reads, most of which are the same for all. */
export function withSharedReads({ all }: PostgresDb, store: Store): Store {
  const findTask = batching({
    atOnce: GROUPS_AT_ONCE,
    keyOf: (id: string) => id,
    startGroup() {
      let room = TASKS_AT_ONCE;
      return () => room-- > 0;
    },
    async doTogether(ids) {
      const rows = await all<TaskRow>(sql`SELECT ${TASK_COLUMNS} FROM tasks t ${TASK_JOINS}
        WHERE t.id = ANY(${[...new Set(ids)]}::uuid[])`);
      const found = new Map(rows.map((row) => [row.id, toTask(row)]));
      return (id: string) => found.get(id) ?? null;
    },
  });
  return {
    ...store,
    async getTask(id, viewer) {
      const task = await findTask(id);
      return task !== null && isVisible(task, viewer) ? task : null;
    },
    getChainStatus: shared(store.getChainStatus),
    getChainIdentity: shared(store.getChainIdentity),
    listAnchoringAccounts: shared(store.listAnchoringAccounts),
  };
}

function isVisible(task: TaskRecord, { robotId, wallet }: Viewer): boolean {
  return robotId === undefined ? task.wallet === wallet : task.robotId === robotId;
}

function shared<Result>(read: () => Promise<Result>): () => Promise<Result> {
  const next = batching({
    atOnce: 1,
    keyOf: () => '',
    startGroup: () => () => true,
    async doTogether(_calls: readonly null[]) {
      const result = await read();
      return () => result;
    },
  });
  return () => next(null);
}
