// Stores the queue of proofs that wait to be signed, and offers them to senders.

import type { AnchorStore } from '../../ports/anchoring.ts';
import { inPages, QUEUED_COLUMNS } from '../anchoring/waits.ts';
import type { Db } from '../db/database.ts';
import { NOW, sql } from '../db/sql.ts';

/**
 * How long an offered proof is reserved for one sender, in ms: several times what the assignment of a full batch takes.
 * With a shorter time, another sender could take a proof meanwhile, and the assignment would start again. If a sender
 * stops, its offered proofs wait for this time.
 */
const OFFER_MS = 15_000;

export function queueStore({ leased }: Db): Pick<AnchorStore, 'listQueuedProofs'> {
  return {
    listQueuedProofs: (lease, limit) =>
      inPages(limit, ({ round, seq }, most) =>
        leased.write(lease, async (tx) => {
          // A crash of the database may lose an offer. The next read of the queue then makes a new one.
          await tx.run(sql`SET LOCAL synchronous_commit TO off`);
          return tx.all(sql`WITH
            head AS (
              SELECT task_id FROM completions
              WHERE state = 'queued' AND (round, reserve_seq) > (${round}, ${seq})
                AND (offered_until <= ${NOW} OR offered_to = ${lease.sender})
              ORDER BY round, reserve_seq LIMIT ${most} FOR NO KEY UPDATE SKIP LOCKED
            ),
            offered AS (
              UPDATE completions c
              SET offered_to = ${lease.sender}, offered_until = ${NOW} + ${OFFER_MS}
              FROM head WHERE c.task_id = head.task_id RETURNING c.*
            )
            SELECT ${QUEUED_COLUMNS} FROM offered ORDER BY round, reserve_seq`);
        }),
      ),
  };
}

/** Whether a proof is queued that is not offered to another sender. */
export function anyQueued({ read }: Db): Promise<boolean> {
  return read(async (tx) => {
    const free = await tx.get(sql`SELECT FROM completions
      WHERE state = 'queued' AND offered_until <= ${NOW} ORDER BY round, reserve_seq LIMIT 1`);
    return free !== null;
  });
}
