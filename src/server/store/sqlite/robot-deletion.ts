import { Turns } from '../../../base/turns.ts';
import type { CompletionState, TaskRecord } from '../../core/ports.ts';
import type { RobotStore } from '../../core/robot-store.ts';
import { completionTopic } from '../topics.ts';
import type { WakeUps } from '../wake-ups.ts';
import type { Access } from './access.ts';
import type { Ledger } from './ledger.ts';
import { repeatInCommit } from './repeat.ts';

/** What one commit forgets at most: a robot with a long history holds nobody up. */
const TASKS_PER_COMMIT = 100;

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
  const newestTask = writer.prepare<[string, TaskRecord['status']], { id: string }>(
    `SELECT id FROM tasks WHERE robot_id = ? AND status = ?
     ORDER BY created_at DESC, id DESC LIMIT 1`,
  );
  const remove = writer.prepare<[string]>('DELETE FROM robots WHERE id = ?');
  const forget = forgetTask(access, ledger);

  // One robot of an account at a time, and among all of them one commit, so that however many are deleted at
  // once, other writes and other accounts get theirs in between.
  const inAccount = new Turns({ atOnce: Number.POSITIVE_INFINITY });
  const inStore = new Turns({ atOnce: 1 });

  /** Each commit repeats the first's work: a new key or completion may have come in between. */
  function forgetSome(id: string, wallet: string, now: number) {
    const forgotten: string[] = [];
    if (endKey.run(now, id, wallet).changes === 0) return { more: false, forgotten };
    const { more } = repeatInCommit(TASKS_PER_COMMIT, () => {
      const task = newestTask.get(id, 'claimed') ?? newestTask.get(id, 'verified');
      if (task === undefined) return false;
      forget(task.id, now);
      forgotten.push(task.id);
      return true;
    });
    if (!more) remove.run(id);
    return { more, forgotten };
  }

  async function forgetAll(id: string, wallet: string, now: number): Promise<void> {
    for (let more = true; more; ) {
      const step = await inStore.run(wallet, () => write(() => forgetSome(id, wallet, now)));
      for (const taskId of step.forgotten) wakeUps.wake(completionTopic(taskId));
      more = step.more;
    }
  }

  return {
    async deleteRobot(id, wallet, now) {
      // However many deletions are before this one, the key ends now.
      const ended = write(() => endKey.run(now, id, wallet).changes > 0);
      // Also where it is cut short; others of the account need not wait for it.
      const forgotten = inAccount.run(wallet, () => forgetAll(id, wallet, now)).finally(purgeLog);
      const [found] = await Promise.all([ended, forgotten]);
      return found;
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
      ledger.releaseReservation(taskId, now);
    }
    for (const deletion of deletions) deletion.run(taskId);
    deleteTask.run(taskId);
    bury.run(taskId, now);
  };
}
