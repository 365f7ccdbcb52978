import type { EvidenceStore } from '../../core/evidence-store.ts';
import { type TaskListRow, toListedTask } from '../task-list-rows.ts';
import type { Access } from './access.ts';
import { COMPLETION_STATE } from './task-records.ts';

const SELECT = `SELECT t.id, t.robot_id, t.title, t.description, t.occurred_at, t.created_at,
    t.status, ${COMPLETION_STATE}, c.proof_hash, a.chain_id,
    (SELECT count(*) FROM leaves WHERE task_id = t.id) AS attempts,
    coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                               ORDER BY v.seq DESC LIMIT 1)) AS tx_hash
  FROM tasks t
  LEFT JOIN completions c ON c.task_id = t.id
  LEFT JOIN leaves l ON l.task_id = t.id AND l.live = 1
  LEFT JOIN attempts a ON a.id = l.attempt_id`;

const statuses = ['claimed', 'verified'] as const;

export function taskListStore({ reader, read }: Access): Pick<EvidenceStore, 'listTasks'> {
  const page = (condition: string) =>
    reader.prepare<(string | number)[], TaskListRow>(
      `${SELECT} WHERE ${condition} AND t.status = ? AND (t.created_at, t.id) < (?, ?)
       ORDER BY t.created_at DESC, t.id DESC LIMIT ?`,
    );
  const ofAccount = page('t.wallet = ?');
  const ofRobot = page('t.robot_id = ?');

  const ownRobot = reader.prepare<[string, string]>(
    'SELECT 1 FROM robots WHERE id = ? AND wallet = ?',
  );

  return {
    listTasks: ({ wallet, status, robotId }, limit, after) =>
      read(() => {
        if (robotId !== null && ownRobot.get(robotId, wallet) === undefined) return null;
        const { at, id } = after ?? { at: Number.MAX_SAFE_INTEGER, id: '' };
        const rowsOf = (wanted: 'claimed' | 'verified') =>
          robotId === null
            ? ofAccount.all(wallet, wanted, at, id, limit)
            : ofRobot.all(robotId, wanted, at, id, limit);
        const rows = status === null ? statuses.flatMap(rowsOf) : rowsOf(status);
        return rows.sort(newestFirst).slice(0, limit).map(toListedTask);
      }),
  };
}

function newestFirst(a: TaskListRow, b: TaskListRow): number {
  if (a.created_at !== b.created_at) return b.created_at - a.created_at;
  return a.id < b.id ? 1 : -1;
}
