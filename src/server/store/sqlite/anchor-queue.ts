// Stores the queue of proofs that wait to be signed. A single process signs them, so it makes no offers.

import type { AnchorStore, QueuedProof } from '../../ports/anchoring.ts';
import { QUEUED_COLUMNS } from '../anchoring/waits.ts';
import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { Awaitable, Tx } from '../db/tx.ts';

export function queueStore({ leased }: Db): Pick<AnchorStore, 'listQueuedProofs'> {
  return {
    listQueuedProofs: (lease, limit) => leased.read(lease, (tx) => queuedProofs(tx, limit)),
  };
}

export async function anyQueued({ read }: Db): Promise<boolean> {
  const queued = await read((tx) => queuedProofs(tx, 1));
  return queued.length > 0;
}

/** The first queued proofs, in the order of the queue. */
function queuedProofs(tx: Tx, limit: number): Awaitable<QueuedProof[]> {
  return tx.all<QueuedProof>(sql`SELECT ${QUEUED_COLUMNS} FROM completions
    WHERE state = 'queued' ORDER BY round, reserve_seq LIMIT ${limit}`);
}
