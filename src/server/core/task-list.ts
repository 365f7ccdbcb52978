import type { TaskListItem } from '../../protocol/resources.ts';
import type { Query } from '../../protocol/routes.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Deps, Network } from './deps.ts';
import type { TaskListRecord, TimePlace } from './evidence-store.ts';
import { fault } from './fault.ts';
import { type Page, pageOf } from './page.ts';
import { viewAnchor } from './task-view.ts';

/**
 * One page of the tasks of the account's robots, newest first. Throws `not_found` when the account has no
 * robot of the given id.
 */
export async function listTasks(
  deps: Deps,
  wallet: string,
  query: Query<'listTasks'>,
): Promise<Page<TaskListItem>> {
  const filter = { wallet, status: query.status ?? null, robotId: query.robot_id ?? null };
  const after = query.cursor === undefined ? null : readCursor(query.cursor);
  const page = await pageOf(
    query.limit,
    async (count) => {
      const found = await deps.store.listTasks(filter, count, after);
      if (found === null) throw fault('not_found', 'There is no such robot in this account.');
      return found;
    },
    { cursorOf: ({ createdAt, id }) => `${createdAt}_${id}`, view: (task) => task },
  );
  const networks = await networksOf(deps, page.items);
  return { ...page, items: page.items.map((task) => viewTaskListItem(task, networks)) };
}

/** The schema of the route holds its form. */
function readCursor(cursor: string): TimePlace {
  const [at = '', id = ''] = cursor.split('_');
  return { at: Number(at), id };
}

async function networksOf(
  { network }: Deps,
  tasks: readonly TaskListRecord[],
): Promise<Map<number, Network>> {
  const chainIds = new Set(tasks.flatMap(({ progress }) => progress?.chainId ?? []));
  const found = [...chainIds].map(async (id) => [id, await network(id)] as const);
  return new Map(await Promise.all(found));
}

function viewTaskListItem(task: TaskListRecord, networks: Map<number, Network>): TaskListItem {
  const { progress } = task;
  return {
    id: task.id,
    title: task.title,
    description: task.description,
    status: task.status,
    created_at: formatTimestamp(task.createdAt),
    occurred_at: task.occurredAt,
    robot_id: task.robotId,
    anchor:
      progress === null ? null : viewAnchor(progress, networks.get(progress.chainId ?? 0) ?? null),
  };
}
