import type { Database } from 'better-sqlite3';
import type { AnchorStore } from '../../core/anchor-store.ts';
import { completionMove } from '../completion-moves.ts';
import { QUEUE_TOPIC } from '../topics.ts';
import type { WakeUps } from '../wake-ups.ts';
import type { Access } from './access.ts';
import { attemptMover } from './anchor-moves.ts';
import type { LeaseGuard } from './leases.ts';
import type { Ledger } from './ledger.ts';

/** The end of an attempt that another transaction took the nonce from. */
export function deathStore(
  { writer, write }: Access,
  { guard, ledger, wakeUps }: { guard: LeaseGuard; ledger: Ledger; wakeUps: WakeUps },
): Pick<AnchorStore, 'recordDeath'> {
  const move = attemptMover(writer);
  const queueAnew = nextGeneration(writer);
  // Charged before, a task that is gone owes nothing and gets nothing back.
  const abandoned = writer.prepare<[string], { task_id: string }>(
    `SELECT l.task_id FROM leaves l WHERE l.attempt_id = ?
       AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = l.task_id)
       AND NOT EXISTS (SELECT 1 FROM ledger s WHERE s.task_id = l.task_id AND s.kind = 'settle')`,
  );
  const endLeaves = writer.prepare<[string]>('UPDATE leaves SET live = 0 WHERE attempt_id = ?');

  return {
    async recordDeath(lease, attemptId, now) {
      await write(() => {
        guard(lease);
        move(lease, attemptId, 'die', now);
        queueAnew(attemptId, now);
        for (const { task_id: taskId } of abandoned.all(attemptId)) {
          ledger.releaseReservation(taskId, now);
        }
        endLeaves.run(attemptId);
      });
      wakeUps.wake(QUEUE_TOPIC);
    },
  };
}

function nextGeneration(writer: Database): (attemptId: string, now: number) => void {
  const { to, from } = completionMove('anchor_anew');
  const waiting = writer.prepare<[string], { total: number }>(
    `SELECT count(*) AS total FROM leaves l JOIN completions c ON c.task_id = l.task_id
     WHERE l.attempt_id = ?`,
  );
  const queue = writer.prepare<[number, string]>(
    `UPDATE completions SET state = ${to}, generation = generation + 1, updated_at = ?
     WHERE task_id IN (SELECT task_id FROM leaves WHERE attempt_id = ?) AND state IN ${from}`,
  );
  return (attemptId, now) => {
    if (queue.run(now, attemptId).changes !== waiting.get(attemptId)?.total) {
      throw new Error('A leaf of the attempt belongs to a completion that it cannot have');
    }
  };
}
