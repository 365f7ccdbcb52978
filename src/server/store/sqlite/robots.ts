// Authenticates robots, keeps their last readings, and deletes them with all their tasks.

import type { Database } from 'better-sqlite3';
import { FairQueue } from '../../../base/fair-queue.ts';
import type { Triggers } from '../../../base/triggers.ts';
import type { RobotStore } from '../../ports/robots.ts';
import type { CompletionState, TaskRecord } from '../../ports/tasks.ts';
import type { SampleRecord } from '../../ports/telemetry.ts';
import { returnsReservation } from '../../rules/completions.ts';
import { recordAudit } from '../audit-log.ts';
import { releaseReservations } from '../ledger.ts';
import { newest } from '../rows/robots.ts';
import { completionTopic } from '../tasks.ts';
import type { Access } from './engine/connections.ts';
import { repeatInCommit } from './engine/group-commit.ts';
import type { RateCounters } from './engine/rate-counters.ts';
import { runOn } from './engine/steps.ts';

export function robotAuthentication(
  { reader, readNow }: Access,
  counters: RateCounters,
): Pick<RobotStore, 'authenticateRobot'> {
  const byKey = reader.prepare<
    [string],
    { id: string; wallet: string; suspended_at: number | null }
  >(
    `SELECT id, wallet, (SELECT coalesce(suspended_at, deleting_at) FROM accounts a WHERE a.wallet = robots.wallet)
       AS suspended_at
     FROM robots WHERE key_hash = ?`,
  );

  return {
    async authenticateRobot(keyHash) {
      const row = readNow(() => byKey.get(keyHash));
      if (row === undefined) return null;
      const { id, wallet, suspended_at } = row;
      const robot = { id, wallet, isSuspended: suspended_at !== null };
      return { robot, count: counters.count('robot', id) };
    },
  };
}

/** Tasks deleted per commit at most, so that deleting a long history does not delay other writes. */
const TASKS_PER_COMMIT = 100;

interface TaskStateRow {
  status: TaskRecord['status'];
  state: CompletionState | null;
}

/** Deletes a robot and its tasks. Their leaves and ledger entries stay; they refer to the tasks by id. */
export function robotDeletion(
  { writer, write, purgeLog }: Access,
  triggers: Triggers,
): Pick<RobotStore, 'deleteRobot'> {
  const run = runOn(writer);
  const endKey = writer.prepare<[number, string, string], { name: string }>(
    `UPDATE robots SET key_hash = NULL, key_hint = NULL, updated_at = ?
     WHERE id = ? AND wallet = ? RETURNING name`,
  );
  // Newest first, and claimed before verified: a queued task should go before it is signed, and it is rarely old.
  const newestTask = writer.prepare<[string, TaskRecord['status']], { id: string }>(
    `SELECT id FROM tasks WHERE robot_id = ? AND status = ?
     ORDER BY created_at DESC, id DESC LIMIT 1`,
  );
  const remove = writer.prepare<[string]>('DELETE FROM robots WHERE id = ?');
  // Receipts name the robot, and its samples go later: no other robot may get its id.
  const bury = writer.prepare<[string, number]>('INSERT INTO robot_tombstones VALUES (?, ?)');
  const forget = forgetTask(writer);

  // One robot per account at a time, and one commit at a time among all deletions: other writes and other accounts
  // get their commits in between, however many robots are being deleted.
  const inAccount = new FairQueue({ atOnce: Number.POSITIVE_INFINITY });
  const inStore = new FairQueue({ atOnce: 1 });

  /** Ends the key in each commit: the robot may have got a new key, and with it tasks, since the commit before. */
  function deleteSome(id: string, wallet: string, now: number) {
    const forgotten: string[] = [];
    if (endKey.get(now, id, wallet) === undefined) return { more: false, forgotten };
    const { more } = repeatInCommit(TASKS_PER_COMMIT, () => {
      const task = newestTask.get(id, 'claimed') ?? newestTask.get(id, 'verified');
      if (task === undefined) return false;
      forget(task.id, now);
      forgotten.push(task.id);
      return true;
    });
    if (!more) {
      remove.run(id);
      bury.run(id, now);
    }
    return { more, forgotten };
  }

  async function forgetAll(id: string, wallet: string, now: number): Promise<void> {
    for (let more = true; more; ) {
      const step = await inStore.run(wallet, () => write(() => deleteSome(id, wallet, now)));
      for (const taskId of step.forgotten) triggers.wake(completionTopic(taskId));
      more = step.more;
    }
  }

  return {
    async deleteRobot(id, wallet, now, by) {
      // The key ends now, however many deletions are queued before this one.
      const ended = write(() => {
        const robot = endKey.get(now, id, wallet);
        if (robot !== undefined)
          run(recordAudit(wallet, 'robot_deleted', by, { target_id: id, detail: robot.name }));
        return robot !== undefined;
      });
      // Purge even if the deletion fails halfway. Other deletions of the account need not wait for the purge.
      const forgotten = inAccount.run(wallet, () => forgetAll(id, wallet, now)).finally(purgeLog);
      const [found] = await Promise.all([ended, forgotten]);
      return found;
    },
  };
}

/** Updates the robot's last-seen time, battery and state from new samples (`TelemetryStore.recordSamples`). */
export function showNewest(
  writer: Database,
): (robotId: string, samples: readonly SampleRecord[], now: number) => void {
  const seen = lastSeen(writer);
  const showing = (column: 'battery' | 'state', value: 'battery_pct' | 'state') =>
    writer.prepare<{ robotId: string; value: string | number; at: number }>(
      `UPDATE robots SET ${value} = :value, ${column}_at = :at
       WHERE id = :robotId AND (${column}_at IS NULL OR ${column}_at <= :at)`,
    );
  const showBattery = showing('battery', 'battery_pct');
  const showState = showing('state', 'state');
  return (robotId, samples, now) => {
    seen(robotId, now);
    const battery = newest(samples, now, ({ batteryPct }) => batteryPct);
    if (battery !== null) showBattery.run({ robotId, ...battery });
    const state = newest(samples, now, (sample) => sample.state);
    if (state !== null) showState.run({ robotId, ...state });
  };
}

/** Updates the robot's last-seen time. The time never goes back. */
export function lastSeen(writer: Database): (robotId: string, now: number) => void {
  const update = writer.prepare<[number, string, number]>(
    `UPDATE robots SET last_seen_at = ?
     WHERE id = ? AND (last_seen_at IS NULL OR last_seen_at < ?)`,
  );
  return (robotId, now) => {
    update.run(now, robotId, now);
  };
}

function forgetTask(writer: Database): (taskId: string, now: number) => void {
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
  const run = runOn(writer);
  return (taskId, now) => {
    const task = stateOf.get(taskId);
    if (task === undefined) throw new Error('The task to delete does not exist');
    if (returnsReservation(task)) run(releaseReservations([taskId], now));
    for (const deletion of deletions) deletion.run(taskId);
    deleteTask.run(taskId);
    bury.run(taskId, now);
  };
}
