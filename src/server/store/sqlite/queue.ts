import type { Hex } from '../../../proof/bytes.ts';
import type { AnchorStore } from '../../core/anchor-store.ts';
import { completionMove } from '../completion-moves.ts';
import { completionTopic, QUEUE_TOPIC } from '../topics.ts';
import type { WakeUps } from '../wake-ups.ts';
import type { Access } from './access.ts';
import type { LeaseGuard } from './leases.ts';
import type { Ledger } from './ledger.ts';

interface QueuedRow {
  task_id: string;
  proof_hash: Hex;
  leaf: Hex;
  generation: number;
  queued_at: number;
}

/** The proofs that wait to be signed. */
export function queueStore(
  { reader, writer, write, read, readNow }: Access,
  {
    guard,
    readGuard,
    ledger,
    wakeUps,
  }: {
    guard: LeaseGuard;
    readGuard: LeaseGuard;
    ledger: Ledger;
    wakeUps: WakeUps;
  },
): Pick<AnchorStore, 'listQueuedProofs' | 'waitForQueuedProof' | 'refuseQueuedProofs'> {
  const queued = reader.prepare<[number], QueuedRow>(
    `SELECT task_id, proof_hash, leaf, generation, queued_at FROM completions
     WHERE state = 'queued' ORDER BY reserve_seq LIMIT ?`,
  );
  const anyQueued = reader.prepare<[]>(`SELECT 1 FROM completions WHERE state = 'queued' LIMIT 1`);
  const refuse = completionMove('refuse');
  // Nothing is released after signing: a proof of a later generation was signed before.
  const fail = writer.prepare<[string, number, string]>(
    `UPDATE completions SET state = ${refuse.to}, failure = ?, updated_at = ?
     WHERE task_id = ? AND state IN ${refuse.from} AND generation = 0`,
  );

  return {
    listQueuedProofs: (lease, limit) =>
      read(() => {
        readGuard(lease);
        return queued.all(limit).map((row) => ({
          taskId: row.task_id,
          proofHash: row.proof_hash,
          leaf: row.leaf,
          generation: row.generation,
          queuedAt: row.queued_at,
        }));
      }),

    async waitForQueuedProof(signal) {
      if (signal.aborted || readNow(() => anyQueued.get()) !== undefined) return;
      await wakeUps.wait(QUEUE_TOPIC, signal);
    },

    async refuseQueuedProofs(lease, taskIds, reason, now) {
      const refused = await write(() => {
        guard(lease);
        return taskIds.filter((taskId) => {
          if (fail.run(reason, now, taskId).changes === 0) return false;
          const { wallet, cycle, gasWei } = ledger.reservationOf(taskId);
          ledger.post({ kind: 'release', wallet, anchors: 1, gasWei, taskId, cycle, at: now });
          return true;
        });
      });
      for (const taskId of refused) wakeUps.wake(completionTopic(taskId));
    },
  };
}
