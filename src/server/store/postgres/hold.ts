import type { SenderKey } from '../../core/operations-store.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

/*
 * A restored database may not know what was anchored after its backup, by whichever account. So every
 * sender is held, also one that comes later, until it was held against the chain itself. That is the one
 * reason that the chain status has of its own; senders keep theirs at their leases.
 */

const REASON = 'restored';

const held = sql(`SELECT FROM restoration WHERE id = 1 AND NOT EXISTS
  (SELECT FROM reconciled_senders WHERE chain_id = $1 AND address = $2)`);
/** Inside a write: waits for the writes of all anchorers and for leases being taken, and keeps others out. */
export const takeLeases = sql('LOCK TABLE leases IN EXCLUSIVE MODE');
const begin = sql(`INSERT INTO restoration VALUES (1, $1)
  ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at`);
const forgetReconciled = sql('DELETE FROM reconciled_senders');
const endLeases = sql('UPDATE leases SET holder = NULL, expires_at = 0');
const lockRestoration = sql('SELECT FROM restoration WHERE id = 1 FOR SHARE');
const reconcile = sql(`INSERT INTO reconciled_senders
  SELECT DISTINCT chain_id, address, $3::bigint
  FROM unnest($1::bigint[], $2::text[]) AS s (chain_id, address) ORDER BY chain_id, address
  ON CONFLICT (chain_id, address) DO UPDATE SET reconciled_at = excluded.reconciled_at`);
const saveReasons = sql(`INSERT INTO chain_status AS s (id, degraded, updated_at) VALUES (1, $1, $2)
  ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at
  WHERE s.degraded <> excluded.degraded`);

export async function isHeld(tx: Queries, { chainId, address }: SenderKey): Promise<boolean> {
  return (await tx.first(held, [chainId, address])) !== undefined;
}

/** Ends every lease and holds every sender. Inside a write. */
export async function holdQueue(tx: Queries, now: number): Promise<void> {
  await tx.run(takeLeases);
  await tx.run(begin, [now]);
  await tx.run(forgetReconciled);
  await tx.run(endLeases);
  await showHold(tx, now);
}

/** Inside a write. */
export async function showHold(tx: Queries, now: number): Promise<void> {
  await tx.run(saveReasons, [JSON.stringify([REASON]), now]);
}

/** Inside a write. */
export async function liftHold(
  tx: Queries,
  senders: readonly SenderKey[],
  now: number,
): Promise<void> {
  if ((await tx.first(lockRestoration)) === undefined) return;
  const chainIds = senders.map(({ chainId }) => chainId);
  await tx.run(reconcile, [chainIds, senders.map(({ address }) => address), now]);
  await tx.run(saveReasons, ['[]', now]);
}
