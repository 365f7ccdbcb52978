// Reads tasks: one by id, the list, public anchors and anchor transactions; and names what requests wait for.

import type { TaskRecord, TaskStore } from '../ports/tasks.ts';
import { firstAs, NO_ID, rows, type StepRunner, type Steps, some } from './engine/steps.ts';
import {
  FIND_PUBLIC_ANCHOR,
  FIND_TASK,
  FIND_VISIBLE_TASK,
  LIST_COLUMNS,
  type TaskListRow,
  toListedTask,
  toPublicAnchor,
  toTask,
  viewerValues,
  WITH_ATTEMPT,
} from './rows/tasks.ts';
import type { FindTasks } from './stream.ts';

/** The topic for "a proof may be queued". */
export const QUEUE_TOPIC = 'queue';

/** The topic for "the completion of this task may be verified or failed, or the task deleted". */
export function completionTopic(taskId: string): string {
  return `completion:${taskId}`;
}

type Status = 'claimed' | 'verified';

const NEWEST_FIRST = 'ORDER BY created_at DESC, id DESC LIMIT $4';

/** Reads the newest tasks of each status from its index and merges them. Only a page of tasks is joined further. */
function page(owner: 'wallet' | 'robot_id', ...statuses: Status[]): string {
  const newest = statuses.map(
    (status) => `SELECT * FROM (SELECT id, created_at FROM tasks
      WHERE ${owner} = $1 AND status = '${status}' AND (created_at, id) < ($2, $3)
      ${NEWEST_FIRST}) AS ${status}`,
  );
  return `SELECT ${LIST_COLUMNS} FROM (${newest.join(' UNION ALL ')} ${NEWEST_FIRST}) AS newest
    JOIN tasks t ON t.id = newest.id ${WITH_ATTEMPT} ORDER BY t.created_at DESC, t.id DESC`;
}

const pages = {
  allOfAccount: page('wallet', 'claimed', 'verified'),
  claimedOfAccount: page('wallet', 'claimed'),
  verifiedOfAccount: page('wallet', 'verified'),
  allOfRobot: page('robot_id', 'claimed', 'verified'),
  claimedOfRobot: page('robot_id', 'claimed'),
  verifiedOfRobot: page('robot_id', 'verified'),
} as const;

export const taskSql = {
  ...pages,
  find: FIND_TASK,
  visible: FIND_VISIBLE_TASK,
  publicAnchor: FIND_PUBLIC_ANCHOR,
  signed: 'SELECT tx_hash FROM variants WHERE tx_hash = $1',
  ownRobot: 'SELECT id FROM robots WHERE id = $1 AND wallet = $2',
  owners: `SELECT id, wallet FROM tasks WHERE id IN (SELECT task_id FROM leaves
    WHERE attempt_id = $1 UNION ALL SELECT value::uuid FROM json_array_elements_text($2::json))`,
} as const;

export function taskOwners({ read }: StepRunner): FindTasks {
  return (attemptId, taskIds) =>
    read(() => rows(taskSql.owners, attemptId, JSON.stringify(taskIds)));
}

/** Finds a task of any account with its completion and receipt. */
export function findTask(id: string): Steps<TaskRecord | null> {
  return firstAs(toTask, taskSql.find, id);
}

export function taskStore({ read }: StepRunner): Omit<TaskStore, 'createTask'> {
  return {
    getTask: (id, viewer) =>
      read(() => firstAs(toTask, taskSql.visible, id, ...viewerValues(viewer))),

    findPublicAnchor: (proofHash, taskId) =>
      read(() => firstAs(toPublicAnchor, taskSql.publicAnchor, proofHash, taskId)),

    hasAnchorTransaction: (txHash) => read(() => some(taskSql.signed, txHash)),

    listTasks: ({ wallet, status, robotId }, limit, after) =>
      read(function* () {
        if (robotId !== null && !(yield* some(taskSql.ownRobot, robotId, wallet))) return null;
        const owner = robotId === null ? 'OfAccount' : 'OfRobot';
        const text = pages[`${status ?? 'all'}${owner}`];
        const { at, id } = after ?? { at: Number.MAX_SAFE_INTEGER, id: NO_ID };
        const listed = yield* rows<TaskListRow>(text, robotId ?? wallet, at, id, limit);
        return listed.map(toListedTask);
      }),
  };
}
