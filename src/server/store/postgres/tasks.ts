import type { Hex } from '../../../proof/bytes.ts';
import type { TaskStore } from '../../core/ports.ts';
import { claimedTask, isSameClaim } from '../task-rows.ts';
import type { Access } from './access.ts';
import { sql } from './sql.ts';
import {
  IS_VISIBLE,
  readTask,
  toWholeTask,
  viewerValues,
  WHOLE_TASK_COLUMNS,
  WHOLE_TASK_JOINS,
  type WholeTaskRow,
} from './task-records.ts';

// No row where the robot or the key is gone. Where a task was deleted while this waited for its id, the schema
// refuses the insert and the statement runs again.
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
const findPublic = sql(`SELECT ${WHOLE_TASK_COLUMNS}, robots.name AS robot_name, p.occurrences
  FROM tasks t ${WHOLE_TASK_JOINS}
  JOIN robots ON robots.id = t.robot_id
  JOIN proof_hashes p ON p.proof_hash = c.proof_hash
  WHERE c.proof_hash = $1 AND t.id = coalesce($2::uuid,
    (SELECT task_id FROM receipts WHERE proof_hash = $1 ORDER BY seq LIMIT 1),
    (SELECT task_id FROM completions WHERE proof_hash = $1 ORDER BY reserve_seq LIMIT 1))`);
const signed = sql('SELECT FROM variants WHERE tx_hash = $1');

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
      if (claimed === undefined) return { outcome: 'robot_gone' };
      if (claimed.created) return { outcome: 'created', task: claimedTask(task, claimed.wallet) };
      const stored = await readTask(access, task.id);
      if (stored === null || !isSameClaim(stored, task)) return { outcome: 'id_conflict' };
      // An id of our own making is only there when the connection was lost after the commit.
      if (!task.idGiven) return { outcome: 'created', task: stored };
      await access.run(seeAgain, [task.robotId, task.keyHash, task.createdAt]);
      return { outcome: 'repeated', task: stored };
    },

    async getTask(id, viewer) {
      const row = await access.first<WholeTaskRow>(findVisible, [id, ...viewerValues(viewer)]);
      return row === undefined ? null : toWholeTask(row);
    },

    async findPublicAnchor(proofHash, taskId) {
      const row = await access.first<WholeTaskRow & { robot_name: string; occurrences: number }>(
        findPublic,
        [proofHash, taskId],
      );
      if (row === undefined) return null;
      return { task: toWholeTask(row), robotName: row.robot_name, occurrences: row.occurrences };
    },

    hasAnchorTransaction: async (txHash: Hex) =>
      (await access.first(signed, [txHash])) !== undefined,
  };
}
