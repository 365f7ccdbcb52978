import type { CompletionState, TaskRecord } from '../../core/ports.ts';
import type { RobotStore } from '../../core/robot-store.ts';
import type { Access } from './access.ts';
import { completionTopic } from './completions.ts';
import type { Ledger } from './ledger.ts';
import type { WakeUps } from './wake-ups.ts';

/** What one commit forgets at most: a robot with a long history, or large evidence, holds nobody up. */
const TASKS_PER_COMMIT = 100;
const MS_PER_COMMIT = 5;

interface TaskStateRow {
  status: TaskRecord['status'];
  state: CompletionState | null;
}

/** A robot goes with its tasks; what was signed for them, and the ledger, know them by id and stay. */
export function robotDeletion(
  access: Access,
  { ledger, wakeUps }: { ledger: Ledger; wakeUps: WakeUps },
): Pick<RobotStore, 'deleteRobot'> {
  const { writer, write, purgeLog } = access;
  const endKey = writer.prepare<[number, string, string]>(
    `UPDATE robots SET key_hash = NULL, key_hint = NULL, updated_at = ?
     WHERE id = ? AND wallet = ?`,
  );
  // What waits to be signed is not verified yet, and rarely old.
  const newestTasks = writer.prepare<[string, TaskRecord['status'], number], { id: string }>(
    `SELECT id FROM tasks WHERE robot_id = ? AND status = ?
     ORDER BY created_at DESC, id DESC LIMIT ?`,
  );
  const remove = writer.prepare<[string]>('DELETE FROM robots WHERE id = ?');
  const forget = forgetTask(access, ledger);

  /** Each commit repeats the first's work: a new key or completion may have come in between. */
  function forgetSome(id: string, wallet: string, now: number) {
    if (endKey.run(now, id, wallet).changes === 0) return { outcome: 'not_found' as const };
    const until = performance.now() + MS_PER_COMMIT;
    const forgotten: string[] = [];
    for (const task of nextTasks(id)) {
      forget(task.id, now);
      forgotten.push(task.id);
      if (performance.now() >= until) break;
    }
    if (forgotten.length > 0) return { outcome: 'more' as const, forgotten };
    remove.run(id);
    return { outcome: 'deleted' as const, forgotten };
  }

  function nextTasks(id: string): { id: string }[] {
    const claimed = newestTasks.all(id, 'claimed', TASKS_PER_COMMIT);
    return claimed.length > 0 ? claimed : newestTasks.all(id, 'verified', TASKS_PER_COMMIT);
  }

  return {
    async deleteRobot(id, wallet, now) {
      for (let commits = 0; ; commits += 1) {
        const step = await write(() => forgetSome(id, wallet, now));
        // Somebody else may have deleted the rest.
        if (step.outcome === 'not_found') return commits > 0;
        // Also for a call that is cut short later.
        const purged = purgeLog();
        for (const taskId of step.forgotten) wakeUps.wake(completionTopic(taskId));
        if (step.outcome === 'more') continue;
        await purged;
        return true;
      }
    },
  };
}

function forgetTask({ writer }: Access, ledger: Ledger): (taskId: string, now: number) => void {
  const stateOf = writer.prepare<[string], TaskStateRow>(
    `SELECT tasks.status, completions.state FROM tasks
     LEFT JOIN completions ON completions.task_id = tasks.id WHERE tasks.id = ?`,
  );
  const deletions = ['receipts', 'proofs', 'completions'].map((table) =>
    writer.prepare<[string]>(`DELETE FROM ${table} WHERE task_id = ?`),
  );
  const deleteTask = writer.prepare<[string]>('DELETE FROM tasks WHERE id = ?');
  const bury = writer.prepare<[string, number]>(
    'INSERT INTO tombstones (task_id, deleted_at) VALUES (?, ?)',
  );
  return (taskId, now) => {
    const task = stateOf.get(taskId);
    if (task === undefined) throw new Error('The task to forget is not there');
    // What was verified once is settled, and its anchor paid for, even if it waits to be anchored anew.
    if (task.state === 'queued' && task.status === 'claimed') {
      const { wallet, cycle, gasWei } = ledger.reservationOf(taskId);
      ledger.post({ kind: 'release', wallet, anchors: 1, gasWei, taskId, cycle, at: now });
    }
    for (const deletion of deletions) deletion.run(taskId);
    deleteTask.run(taskId);
    bury.run(taskId, now);
  };
}
