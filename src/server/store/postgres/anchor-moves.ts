import { type AttemptEvent, moveAttempt } from '../../core/anchor-states.ts';
import type { AttemptState, Lease } from '../../core/anchor-store.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

const lock = sql(`SELECT id, state FROM attempts
  WHERE id = ANY($1::uuid[]) AND chain_id = $2 AND sender = $3 ORDER BY id FOR NO KEY UPDATE`);
const set = sql(`UPDATE attempts a SET state = m.state, updated_at = $3
  FROM unnest($1::uuid[], $2::text[]) AS m (id, state) WHERE a.id = m.id`);

interface Moved {
  id: string;
  state: AttemptState;
}

/**
 * Locks attempts of the lease's sender and answers which states the table leads them to; throws outside of it.
 * Inside a write, after `requireLease`.
 */
export async function nextStates(
  tx: Queries,
  { chainId, sender }: Lease,
  ids: readonly string[],
  event: AttemptEvent,
): Promise<(Moved & { isNew: boolean })[]> {
  const rows = await tx.rows<Moved>(lock, [ids, chainId, sender]);
  if (rows.length !== ids.length) throw new Error('The attempt is not one of this sender');
  return rows.map(({ id, state: from }) => {
    const state = moveAttempt(from, event);
    return { id, state, isNew: state !== from };
  });
}

/** Moves attempts of the lease's sender by the table; throws, so that nothing is written, outside of it. */
export async function moveAttempts(
  tx: Queries,
  lease: Lease,
  ids: readonly string[],
  event: AttemptEvent,
  now: number,
): Promise<void> {
  if (ids.length === 0) return;
  const moved = (await nextStates(tx, lease, ids, event)).filter(({ isNew }) => isNew);
  if (moved.length === 0) return;
  await tx.run(set, [moved.map(({ id }) => id), moved.map(({ state }) => state), now]);
}
