import type { EvidenceStore } from '../../core/evidence-store.ts';
import { type TaskListRow, toListedTask } from '../task-list-rows.ts';
import type { Access } from './access.ts';
import { NO_UUID, sql } from './sql.ts';
import { COMPLETION_STATE, SIGNED, WITH_ATTEMPT } from './task-records.ts';

/** The newest of each status from its index, and of those the newest; only they are looked up further. */
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
// One row without a task where the robot has none.
const ofRobot = sql(`SELECT ${COLUMNS}
  FROM robots LEFT JOIN (${pageOf('robot_id = $1')}) AS t ON true ${WITH_ATTEMPT}
  WHERE robots.id = $1 AND robots.wallet = $6
  ORDER BY t.created_at DESC, t.id DESC`);

export function taskListStore(access: Access): Pick<EvidenceStore, 'listTasks'> {
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
