// Reads tasks: one by id, the list, public anchors, what decides a completion; and names what requests wait for.

import type { Balance } from '../ports/account.ts';
import type { NewCompletion } from '../ports/completions.ts';
import type { CompletionState, TaskRecord, TaskStore } from '../ports/tasks.ts';
import { decideCompletion } from '../rules/completions.ts';
import {
  first,
  firstAs,
  type InText,
  NO_ID,
  rows,
  type StepRunner,
  type Steps,
  some,
} from './engine/steps.ts';
import { QUOTE_COLUMNS, type QuoteRow, toQuote } from './rows/anchoring.ts';
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

/** What the databases know about a completion before it is queued. */
export interface SituationRow extends QuoteRow, InText<Balance> {
  /** Null if the robot has no such task. */
  status: Status | null;
  /** Null before the first completion. */
  state: CompletionState | null;
  cycle: number | null;
  creditRefusedAt: number | null;
}

export const taskSql = {
  ...pages,
  situation: `SELECT a.wallet, a.anchor_quota AS "anchorQuota", a.gas_credit_wei AS "gasCreditWei",
      t.status, t.credit_refused_at AS "creditRefusedAt", c.state, c.cycle, ${QUOTE_COLUMNS}
    FROM robots r JOIN accounts a ON a.wallet = r.wallet
    LEFT JOIN tasks t ON t.id = $3 AND t.robot_id = r.id
    LEFT JOIN completions c ON c.task_id = t.id
    LEFT JOIN chain_status s ON s.id = 1
    WHERE r.id = $1 AND r.key_hash = $2`,
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

/** Decides whether a completion may be queued. `wasRefused`: an earlier one was refused for lack of credit. */
export function* decideFor({ robotId, keyHash, taskId }: NewCompletion) {
  const row = (yield* first<SituationRow>(taskSql.situation, robotId, keyHash, taskId)) ?? null;
  const decision = decideCompletion({
    hasKey: row !== null,
    task: row?.status ? { status: row.status, state: row.state, row } : null,
    balance: row && { anchorQuota: row.anchorQuota, gasCreditWei: BigInt(row.gasCreditWei) },
    quote: row && toQuote(row),
  });
  return { decision, wasRefused: row !== null && row.creditRefusedAt !== null };
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
