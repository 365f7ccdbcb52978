// Stores tasks: claims, the task list, public anchors and lookups of anchor transactions.

import type { Hex } from '../../../proof/bytes.ts';
import type { TaskRecord, TaskStore, Viewer } from '../../ports/tasks.ts';
import {
  type CompletionRow,
  claimedTask,
  isSameClaim,
  type ReceiptRow,
  type TaskListRow,
  type TaskRow,
  toCompletion,
  toListedTask,
  toReceipt,
  toTask,
} from '../rows/tasks.ts';
import type { Queries } from './engine/connections.ts';
import { NO_UUID, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

/** A task with its completion and receipt. Their members are null if there is none. */
export type WholeTaskRow = TaskRow & {
  [Member in keyof CompletionRow]: CompletionRow[Member] | null;
} & {
  [Member in keyof ReceiptRow]: ReceiptRow[Member] | null;
};

/**
 * The state of a completion and the time of its last change, from the task `t`, its completion `c` and its live attempt
 * `a`. A verified task has the state of its attempt, and is `reorged` while no attempt is both mined and settled. Null
 * if there is no completion.
 */
const COMPLETION_STATE = `CASE
    WHEN c.task_id IS NULL OR t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  CASE WHEN c.state = 'included' THEN greatest(c.updated_at, a.updated_at)
    ELSE c.updated_at END AS updated_at`;

/** How often the task `t` was signed, and the newest transaction of its live attempt `a`. */
const SIGNED = `(SELECT count(*) FROM leaves s WHERE s.task_id = t.id) AS attempts,
  coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                             ORDER BY v.seq DESC LIMIT 1)) AS tx_hash`;

/** Joins the completion `c` and the live attempt `a` to the task `t`. */
const WITH_ATTEMPT = `LEFT JOIN completions c ON c.task_id = t.id
  LEFT JOIN leaves l ON l.task_id = t.id AND l.live
  LEFT JOIN attempts a ON a.id = l.attempt_id`;

/** The columns of a `WholeTaskRow`. They need `WHOLE_TASK_JOINS`. */
export const WHOLE_TASK_COLUMNS = `t.id, t.robot_id, t.wallet, t.title, t.description,
  t.expected_result, t.occurred_at, t.created_at, t.status,
  ${COMPLETION_STATE}, c.proof_hash, c.claim_hash, c.leaf, ${SIGNED},
  r.leaf_index, rl.path, ra.state AS attempt_state, ra.safe, ra.chain_id, ra.sender, ra.root,
  ra.leaf_count, ra.mined_tx_hash, ra.mined_block_number, ra.mined_at`;

/** Joins completion, attempt, receipt and its leaf to the task `t`. */
export const WHOLE_TASK_JOINS = `${WITH_ATTEMPT}
  LEFT JOIN receipts r ON r.task_id = t.id
  LEFT JOIN attempts ra ON ra.id = r.attempt_id
  LEFT JOIN leaves rl ON rl.attempt_id = r.attempt_id AND rl.leaf_index = r.leaf_index`;

/** Visibility of the task `t`: to its robot `$2`, or to its account `$3`. See `viewerValues`. */
export const IS_VISIBLE = '(t.robot_id = $2::uuid OR t.wallet = $3::text)';

/** `$2` and `$3` of `IS_VISIBLE`. */
export function viewerValues(viewer: Viewer): [robotId: string | null, wallet: string | null] {
  return 'robotId' in viewer ? [viewer.robotId, null] : [null, viewer.wallet];
}

const find = sql(`SELECT ${WHOLE_TASK_COLUMNS} FROM tasks t ${WHOLE_TASK_JOINS} WHERE t.id = $1`);

export async function readTask(queries: Queries, id: string): Promise<TaskRecord | null> {
  const row = await queries.first<WholeTaskRow>(find, [id]);
  return row === undefined ? null : toWholeTask(row);
}

export function toWholeTask(row: WholeTaskRow): TaskRecord {
  if (!isCompleted(row)) return toTask(row, null);
  return toTask(row, toCompletion(row, isAnchored(row) ? toReceipt(row) : null));
}

// No row if the robot or its key is gone. If the task was deleted while this statement waited for its id, the schema
// refuses the insert and the statement is retried.
const claim = sql(`WITH robot AS (
    SELECT id, wallet FROM robots WHERE id = $2 AND key_hash = $3 FOR UPDATE
  ), created AS (
    INSERT INTO tasks (id, robot_id, wallet, title, description, expected_result, occurred_at,
      created_at)
    SELECT $1::uuid, id, wallet, $4::text, $5::text, $6::text, $7::text, $8::bigint FROM robot
    WHERE NOT EXISTS (SELECT FROM tombstones WHERE task_id = $1)
    ON CONFLICT (id) DO NOTHING
    RETURNING robot_id
  ), seen AS (
    UPDATE robots SET last_seen_at = $8
    WHERE id IN (SELECT robot_id FROM created) AND (last_seen_at IS NULL OR last_seen_at < $8)
  )
  SELECT wallet, EXISTS (SELECT FROM created) AS created FROM robot`);
const seeAgain = sql(`UPDATE robots SET last_seen_at = $3
  WHERE id = $1 AND key_hash = $2 AND (last_seen_at IS NULL OR last_seen_at < $3)`);
const findVisible = sql(`SELECT ${WHOLE_TASK_COLUMNS} FROM tasks t ${WHOLE_TASK_JOINS}
  WHERE t.id = $1 AND ${IS_VISIBLE}`);
const findPublic = sql(`SELECT ${WHOLE_TASK_COLUMNS}, robots.name AS robot_name, p.occurrences,
    ra.mined_block_hash, ra.mined_tx_index, rv.raw_tx, cp.header IS NOT NULL AS is_proven
  FROM tasks t ${WHOLE_TASK_JOINS}
  JOIN robots ON robots.id = t.robot_id
  JOIN proof_hashes p ON p.proof_hash = c.proof_hash
  LEFT JOIN chain_proofs cp ON cp.attempt_id = ra.id
  LEFT JOIN variants rv ON rv.tx_hash = ra.mined_tx_hash
  WHERE c.proof_hash = $1 AND t.id = coalesce($2::uuid,
    (SELECT task_id FROM receipts WHERE proof_hash = $1 ORDER BY seq LIMIT 1),
    (SELECT task_id FROM completions WHERE proof_hash = $1 ORDER BY reserve_seq LIMIT 1))`);
const signed = sql('SELECT FROM variants WHERE tx_hash = $1');

interface PublicRow {
  robot_name: string;
  occurrences: number;
  mined_block_hash: Hex;
  mined_tx_index: number;
  raw_tx: Hex;
  is_proven: boolean;
}

export function taskStore(
  access: Access,
): Pick<TaskStore, 'createTask' | 'getTask' | 'findPublicAnchor' | 'hasAnchorTransaction'> {
  return {
    async createTask(task) {
      const claimed = await access.first<{ wallet: string; created: boolean }>(claim, [
        task.id,
        task.robotId,
        task.keyHash,
        task.title,
        task.description,
        task.expectedResult,
        task.occurredAt,
        task.createdAt,
      ]);
      if (claimed === undefined) return { outcome: 'key_revoked' };
      if (claimed.created) return { outcome: 'created', task: claimedTask(task, claimed.wallet) };
      const stored = await readTask(access, task.id);
      if (stored === null || !isSameClaim(stored, task)) return { outcome: 'id_conflict' };
      // An id made by the server exists only if the connection was lost after the commit of the first try.
      if (!task.idGiven) return { outcome: 'created', task: stored };
      await access.run(seeAgain, [task.robotId, task.keyHash, task.createdAt]);
      return { outcome: 'repeated', task: stored };
    },

    async getTask(id, viewer) {
      const row = await access.first<WholeTaskRow>(findVisible, [id, ...viewerValues(viewer)]);
      return row === undefined ? null : toWholeTask(row);
    },

    async findPublicAnchor(proofHash, taskId) {
      const row = await access.first<WholeTaskRow & PublicRow>(findPublic, [proofHash, taskId]);
      if (row === undefined) return null;
      const { robot_name: robotName, occurrences, raw_tx: rawTx } = row;
      const { mined_block_hash: blockHash, mined_tx_index: txIndex } = row;
      const proven = row.is_proven ? { blockHash, txIndex, rawTx } : null;
      return { task: toWholeTask(row), robotName, occurrences, proven };
    },

    hasAnchorTransaction: async (txHash: Hex) =>
      (await access.first(signed, [txHash])) !== undefined,
  };
}

/** Reads the newest tasks of each status from its index and merges them. Only a page of tasks is joined further. */
const pageOf = (owner: string) => `SELECT newest.* FROM unnest($2::text[]) AS wanted (status)
  CROSS JOIN LATERAL (
    SELECT * FROM tasks
    WHERE ${owner} AND tasks.status = wanted.status AND (created_at, id) < ($3, $4::uuid)
    ORDER BY created_at DESC, id DESC LIMIT $5
  ) AS newest
  ORDER BY newest.created_at DESC, newest.id DESC LIMIT $5`;

const COLUMNS = `t.id, t.robot_id, t.title, t.description, t.occurred_at, t.created_at, t.status,
  ${COMPLETION_STATE}, c.proof_hash, a.chain_id, ${SIGNED}`;

const ofAccount = sql(`SELECT ${COLUMNS} FROM (${pageOf('wallet = $1')}) AS t ${WITH_ATTEMPT}
  ORDER BY t.created_at DESC, t.id DESC`);
// One row with nulls if the robot has no task.
const ofRobot = sql(`SELECT ${COLUMNS}
  FROM robots LEFT JOIN (${pageOf('robot_id = $1')}) AS t ON true ${WITH_ATTEMPT}
  WHERE robots.id = $1 AND robots.wallet = $6
  ORDER BY t.created_at DESC, t.id DESC`);

export function taskListStore(access: Access): Pick<TaskStore, 'listTasks'> {
  return {
    async listTasks({ wallet, status, robotId }, limit, after) {
      const { at, id } = after ?? { at: Number.MAX_SAFE_INTEGER, id: NO_UUID };
      const page = [status === null ? ['claimed', 'verified'] : [status], at, id, limit];
      const rows =
        robotId === null
          ? await access.rows<TaskListRow>(ofAccount, [wallet, ...page])
          : await access.rows<TaskListRow | { id: null }>(ofRobot, [robotId, ...page, wallet]);
      if (robotId !== null && rows.length === 0) return null;
      return rows.flatMap((row) => (row.id === null ? [] : toListedTask(row)));
    },
  };
}

function isCompleted(row: WholeTaskRow): row is WholeTaskRow & CompletionRow {
  return row.state !== null;
}

function isAnchored<Row extends WholeTaskRow>(row: Row): row is Row & ReceiptRow {
  return row.attempt_state !== null;
}
