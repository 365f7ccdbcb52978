import { Turns } from '../../../base/turns.ts';
import type { TaskRecord } from '../../core/ports.ts';
import type { RobotStore } from '../../core/robot-store.ts';
import { completionTopic } from '../topics.ts';
import type { Access } from './access.ts';
import type { Queries } from './connections.ts';
import type { Hints } from './hints.ts';
import { lockAccount, releaseReservations } from './ledger.ts';
import { sql } from './sql.ts';

/** What one commit forgets at most: a robot with a long history holds nobody up. */
const TASKS_PER_COMMIT = 100;

const endKey = sql(`UPDATE robots SET key_hash = NULL, key_hint = NULL, updated_at = $3
  WHERE id = $1 AND wallet = $2`);
// What waits to be signed is not verified yet, and rarely old.
const takeTasks = sql(`SELECT id, status FROM tasks WHERE id IN (
    SELECT id FROM tasks WHERE robot_id = $1 AND status = $2
    ORDER BY created_at DESC, id DESC LIMIT ${TASKS_PER_COMMIT})
  ORDER BY id FOR UPDATE`);
const takeQueued = sql(`SELECT task_id FROM completions
  WHERE task_id = ANY($1::uuid[]) AND state = 'queued' ORDER BY task_id FOR UPDATE`);
const forget = sql(`WITH forgotten_receipts AS (
    DELETE FROM receipts WHERE task_id = ANY($1::uuid[])
  ), forgotten_proofs AS (
    DELETE FROM proofs WHERE task_id = ANY($1::uuid[])
  ), forgotten_completions AS (
    DELETE FROM completions WHERE task_id = ANY($1::uuid[])
  ), forgotten_tasks AS (
    DELETE FROM tasks WHERE id = ANY($1::uuid[])
  )
  INSERT INTO tombstones (task_id, deleted_at) SELECT id, $2 FROM unnest($1::uuid[]) AS id`);
const remove = sql('DELETE FROM robots WHERE id = $1');

type TakenTask = Pick<TaskRecord, 'id' | 'status'>;

/** A robot goes with its tasks; what was signed for them, and the ledger, know them by id and stay. */
export function robotDeletion(access: Access, hints: Hints): Pick<RobotStore, 'deleteRobot'> {
  // However many are deleted at once, they leave the connections to others.
  const turns = new Turns({ atOnce: 1 });

  async function forgetAll(id: string, wallet: string, now: number): Promise<void> {
    for (let more = true; more; ) {
      const forgotten = await turns.run(wallet, () =>
        access.write((tx) => forgetSome(tx, { id, wallet }, now)),
      );
      hints.tell(forgotten.map(completionTopic));
      more = forgotten.length > 0;
    }
  }

  return {
    async deleteRobot(id, wallet, now) {
      // However many deletions are before this one, the key ends now.
      if ((await access.run(endKey, [id, wallet, now])) === 0) return false;
      await forgetAll(id, wallet, now);
      return true;
    },
  };
}

/** Answers the tasks that it forgot; where there are none left it removes the robot. */
async function forgetSome(
  tx: Queries,
  { id, wallet }: { id: string; wallet: string },
  now: number,
): Promise<string[]> {
  await lockAccount(tx, wallet);
  // Again: a new key may have come in between. No task comes after it.
  if ((await tx.run(endKey, [id, wallet, now])) === 0) return [];
  const claimed = await tx.rows<TakenTask>(takeTasks, [id, 'claimed']);
  const tasks =
    claimed.length > 0 ? claimed : await tx.rows<TakenTask>(takeTasks, [id, 'verified']);
  if (tasks.length === 0) {
    await tx.run(remove, [id]);
    return [];
  }
  const ids = tasks.map((task) => task.id);
  // What was verified once is settled, and its anchor paid for, even if it waits to be anchored anew.
  const unpaid = tasks.flatMap((task) => (task.status === 'claimed' ? [task.id] : []));
  const queued = await tx.rows<{ task_id: string }>(takeQueued, [unpaid]);
  await releaseReservations(
    tx,
    queued.map(({ task_id }) => task_id),
    now,
  );
  await tx.run(forget, [ids, now]);
  return ids;
}
