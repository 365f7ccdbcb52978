import type { AnchorStore } from '../../core/anchor-store.ts';
import { completionMove } from '../completion-moves.ts';
import { QUEUE_TOPIC } from '../topics.ts';
import type { Access } from './access.ts';
import { moveAttempts } from './anchor-moves.ts';
import type { Queries } from './connections.ts';
import type { Hints } from './hints.ts';
import { requireLease } from './leases.ts';
import { lockReserving, releaseReservations } from './ledger.ts';
import { sql } from './sql.ts';

const endLeaves = sql('UPDATE leaves SET live = false WHERE attempt_id = $1 RETURNING task_id');
const lockCompletions = sql(`SELECT FROM tasks t JOIN completions c ON c.task_id = t.id
  WHERE t.id = ANY($1::uuid[]) ORDER BY t.id FOR NO KEY UPDATE`);
const anew = completionMove('anchor_anew');
const queueAnew = sql(`UPDATE completions
  SET state = ${anew.to}, generation = generation + 1, updated_at = $2, offered_to = NULL, offered_until = 0
  WHERE task_id = ANY($1::uuid[]) AND state IN ${anew.from}`);
// Charged before, a task that is gone owes nothing and gets nothing back.
const findAbandoned = sql(`SELECT ended.task_id FROM unnest($1::uuid[]) AS ended (task_id)
  WHERE NOT EXISTS (SELECT FROM tasks t WHERE t.id = ended.task_id)
    AND NOT EXISTS (SELECT FROM ledger s WHERE s.task_id = ended.task_id AND s.kind = 'settle')`);

/** The end of an attempt that another transaction took the nonce from. */
export function deathStore(access: Access, hints: Hints): Pick<AnchorStore, 'recordDeath'> {
  return {
    async recordDeath(lease, attemptId, now) {
      await access.write(async (tx) => {
        await requireLease(tx, access, lease);
        await moveAttempts(tx, lease, [attemptId], 'die', now);
        const ended = await tx.rows<{ task_id: string }>(endLeaves, [attemptId]);
        const taskIds = ended.map(({ task_id }) => task_id);
        await lockReserving(tx, taskIds);
        await queueAgain(tx, taskIds, now);
        const abandoned = await tx.rows<{ task_id: string }>(findAbandoned, [taskIds]);
        await releaseReservations(
          tx,
          abandoned.map(({ task_id }) => task_id),
          now,
        );
      });
      hints.tell([QUEUE_TOPIC]);
    },
  };
}

/** In the next generation, those whose tasks are still there. */
async function queueAgain(tx: Queries, taskIds: readonly string[], now: number): Promise<void> {
  const waiting = await tx.rows(lockCompletions, [taskIds]);
  if ((await tx.run(queueAnew, [taskIds, now])) !== waiting.length) {
    throw new Error('A leaf of the attempt belongs to a completion that it cannot have');
  }
}
