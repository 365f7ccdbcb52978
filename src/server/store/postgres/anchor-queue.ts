// Stores the queue of proofs that wait to be signed, and offers them to senders.

import type { AnchorStore, QueuedProof } from '../../ports/anchoring.ts';
import { QUEUED_COLUMNS } from '../rows/anchoring.ts';
import { sql } from './engine/sql.ts';
import { leasedAccess } from './engine/steps.ts';
import type { Access } from './engine/transactions.ts';

/** How long an offered proof is reserved for one sender, in ms. A sender that crashes delays it by this time. */
const OFFER_MS = 5_000;

// If a crash of the database loses an offer, it is made again.
const commitAsync = sql('SET LOCAL synchronous_commit TO off');
const offer = sql(`WITH
  head AS (
    SELECT task_id FROM completions
    WHERE state = 'queued' AND (offered_until <= instant_or($2) OR offered_to = $1)
    ORDER BY round, reserve_seq LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
  ),
  offered AS (
    UPDATE completions c SET offered_to = $1, offered_until = instant_or($2) + ${OFFER_MS}
    FROM head WHERE c.task_id = head.task_id RETURNING c.*
  )
  SELECT ${QUEUED_COLUMNS} FROM offered ORDER BY round, reserve_seq`);
const findFree = sql(`SELECT FROM completions
  WHERE state = 'queued' AND offered_until <= instant_or($1) ORDER BY round, reserve_seq LIMIT 1`);

export function queueStore(access: Access): Pick<AnchorStore, 'listQueuedProofs'> {
  const leased = leasedAccess(access);
  return {
    listQueuedProofs: (lease, limit) =>
      leased.write(lease, async (tx) => {
        await tx.run(commitAsync);
        return tx.rows<QueuedProof>(offer, [lease.sender, access.instant(), limit]);
      }),
  };
}

/** Whether a proof is queued that is not offered to another sender. */
export async function anyQueued(access: Access): Promise<boolean> {
  return (await access.first(findFree, [access.instant()])) !== undefined;
}
