import type { Database } from 'better-sqlite3';
import { type AttemptEvent, moveAttempt } from '../../core/anchor-states.ts';
import type { AttemptState, Lease } from '../../core/anchor-store.ts';

/** Moves an attempt of the lease's sender by the table; throws, so that nothing is written, outside of it. */
export type AttemptMover = (lease: Lease, id: string, event: AttemptEvent, now: number) => void;

export function attemptMover(writer: Database): AttemptMover {
  const find = writer.prepare<[string, number, string], { state: AttemptState }>(
    'SELECT state FROM attempts WHERE id = ? AND chain_id = ? AND sender = ?',
  );
  const set = writer.prepare<[AttemptState, number, string]>(
    'UPDATE attempts SET state = ?, updated_at = ? WHERE id = ?',
  );
  return ({ chainId, sender }, id, event, now) => {
    const row = find.get(id, chainId, sender);
    if (row === undefined) throw new Error('The attempt is not one of this sender');
    const state = moveAttempt(row.state, event);
    if (state !== row.state) set.run(state, now, id);
  };
}
