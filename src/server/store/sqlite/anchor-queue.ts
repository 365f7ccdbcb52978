// Stores the queue of proofs that wait to be signed.

import type { Triggers } from '../../../base/triggers.ts';
import type { AnchorStore, QueuedProof } from '../../ports/anchoring.ts';
import { completionMove } from '../../rules/anchoring.ts';
import { QUEUED_COLUMNS } from '../rows/anchoring.ts';
import { completionTopic, QUEUE_TOPIC } from '../topics.ts';
import { queueFailed } from '../webhooks.ts';
import type { Ledger } from './account.ts';
import type { Access } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';
import type { LeasedAccess } from './leases.ts';

export function queueStore(
  { reader, writer, readNow }: Access,
  {
    leased,
    ledger,
    triggers,
  }: {
    leased: LeasedAccess;
    ledger: Ledger;
    triggers: Triggers;
  },
): Pick<AnchorStore, 'listQueuedProofs' | 'waitForQueuedProof' | 'refuseQueuedProofs'> {
  const queued = reader.prepare<[number], QueuedProof>(
    `SELECT ${QUEUED_COLUMNS} FROM completions
     WHERE state = 'queued' ORDER BY round, reserve_seq LIMIT ?`,
  );
  const anyQueued = reader.prepare<[]>(`SELECT 1 FROM completions WHERE state = 'queued' LIMIT 1`);
  const run = runOn(writer);
  const refuse = completionMove('refuse');
  // Only generation 0: a proof of a later generation was signed before, and a signed proof keeps its reservation.
  const fail = writer.prepare<[string, number, string]>(
    `UPDATE completions SET state = ${refuse.to}, failure = ?, updated_at = ?
     WHERE task_id = ? AND state IN ${refuse.from} AND generation = 0`,
  );

  return {
    listQueuedProofs: (lease, limit) => leased.read(lease, () => queued.all(limit)),

    async waitForQueuedProof(signal) {
      if (signal.aborted || readNow(() => anyQueued.get()) !== undefined) return;
      await triggers.wait(QUEUE_TOPIC, signal);
    },

    async refuseQueuedProofs(lease, taskIds, reason, now) {
      const refused = await leased.write(lease, () => {
        const failed = taskIds.filter((taskId) => {
          if (fail.run(reason, now, taskId).changes === 0) return false;
          ledger.releaseReservation(taskId, now);
          return true;
        });
        run(queueFailed(failed, reason, now));
        return failed;
      });
      for (const taskId of refused) triggers.wake(completionTopic(taskId));
    },
  };
}
