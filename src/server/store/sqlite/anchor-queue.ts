// Stores the queue of proofs that wait to be signed. A single process signs them, so it makes no offers.

import type { AnchorStore } from '../../ports/anchoring.ts';
import { inPages, QUEUED_COLUMNS } from '../anchoring/waits.ts';
import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

export function queueStore({ leased }: Db): Pick<AnchorStore, 'listQueuedProofs'> {
  return {
    listQueuedProofs: (lease, limit) =>
      inPages(limit, ({ round, seq }, most) =>
        leased.read(lease, (tx) =>
          tx.all(sql`SELECT ${QUEUED_COLUMNS} FROM completions
            WHERE state = 'queued' AND (round, reserve_seq) > (${round}, ${seq})
            ORDER BY round, reserve_seq LIMIT ${most}`),
        ),
      ),
  };
}

export function anyQueued({ read }: Db): Promise<boolean> {
  return read(async (tx) => {
    const queued = sql`SELECT task_id FROM completions WHERE state = 'queued' LIMIT 1`;
    return (await tx.get(queued)) !== null;
  });
}
