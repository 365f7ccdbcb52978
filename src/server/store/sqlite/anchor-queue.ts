// Stores the queue of proofs that wait to be signed.

import type { Triggers } from '../../../base/triggers.ts';
import type { AnchorStore, QueuedProof } from '../../ports/anchoring.ts';
import { QUEUED_COLUMNS } from '../rows/anchoring.ts';
import { QUEUE_TOPIC } from '../tasks.ts';
import type { Access } from './engine/connections.ts';
import type { LeasedAccess } from './leases.ts';

export function queueStore(
  { reader, readNow }: Access,
  { leased, triggers }: { leased: LeasedAccess; triggers: Triggers },
): Pick<AnchorStore, 'listQueuedProofs' | 'waitForQueuedProof'> {
  const queued = reader.prepare<[number], QueuedProof>(
    `SELECT ${QUEUED_COLUMNS} FROM completions
     WHERE state = 'queued' ORDER BY round, reserve_seq LIMIT ?`,
  );
  const anyQueued = reader.prepare<[]>(`SELECT 1 FROM completions WHERE state = 'queued' LIMIT 1`);

  return {
    listQueuedProofs: (lease, limit) => leased.read(lease, () => queued.all(limit)),

    async waitForQueuedProof(signal) {
      if (signal.aborted || readNow(() => anyQueued.get()) !== undefined) return;
      await triggers.wait(QUEUE_TOPIC, signal);
    },
  };
}
