// Stores the queue of proofs that wait to be signed, and offers them to senders.

import type { AnchorStore, QueuedProof } from '../../ports/anchoring.ts';
import { among, rows, type StepRunner, some } from '../engine/steps.ts';
import { QUEUED_COLUMNS } from '../rows/anchoring.ts';

/** How long an offered proof is reserved for one sender, in ms. A sender that crashes delays it by this time. */
const OFFER_MS = 5_000;

export const queueSql = {
  // If a crash of the database loses an offer, it is made again.
  commitAsync: 'SET LOCAL synchronous_commit TO off',
  offer: `WITH
    head AS (
      SELECT task_id FROM completions
      WHERE state = 'queued' AND (offered_until <= instant_or($2) OR offered_to = $1)
      ORDER BY round, reserve_seq LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
    ),
    offered AS (
      UPDATE completions c SET offered_to = $1, offered_until = instant_or($2) + ${OFFER_MS}
      FROM head WHERE c.task_id = head.task_id RETURNING c.*
    )
    SELECT ${QUEUED_COLUMNS} FROM offered ORDER BY round, reserve_seq`,
  findFree: `SELECT FROM completions
    WHERE state = 'queued' AND offered_until <= instant_or($1) ORDER BY round, reserve_seq LIMIT 1`,
  endOffers: `UPDATE completions SET offered_to = NULL, offered_until = 0
    WHERE task_id ${among('uuid', 1)}`,
} as const;

export function queueStore({ leased, instant }: StepRunner): Pick<AnchorStore, 'listQueuedProofs'> {
  return {
    listQueuedProofs: (lease, limit) =>
      leased.write(lease, function* () {
        yield* rows(queueSql.commitAsync);
        return yield* rows<QueuedProof>(queueSql.offer, lease.sender, instant(), limit);
      }),
  };
}

/** Whether a proof is queued that is not offered to another sender. */
export function anyQueued({ read, instant }: StepRunner): Promise<boolean> {
  return read(() => some(queueSql.findFree, instant()));
}
