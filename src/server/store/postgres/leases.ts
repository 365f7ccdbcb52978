// Stores the leases of anchoring accounts, and the hold on anchoring after a restore.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import type { SenderKey } from '../../ports/operations.ts';
import { FOLLOWER } from '../../rules/anchoring.ts';
import type { Queries } from './engine/connections.ts';
import { type SqlValue, sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

/** Condition: the lease is owned now. Its values come from `ownership`. */
export const IS_OWNED = `chain_id = $1 AND address = $2 AND holder = $3 AND fence = $4
  AND expires_at > instant_or($5)`;

const owned = sql(`SELECT FROM leases WHERE ${IS_OWNED}`);
// FOR SHARE: writes of one holder run concurrently, and a takeover waits until they are committed.
const lockOwned = sql(`SELECT FROM leases WHERE ${IS_OWNED} FOR SHARE`);
const addresses = sql('SELECT DISTINCT address FROM leases ORDER BY address');
/** The rule `goesBefore`, for `$3` and the holder of the lease `l`. */
const GOES_BEFORE = `(starts_with(l.holder, '${FOLLOWER}') AND NOT starts_with($3, '${FOLLOWER}'))`;
const peek = sql(`SELECT holder IS NOT NULL AND holder <> $3 AND expires_at > instant_or($4)
    AND NOT ${GOES_BEFORE} AS taken
  FROM leases l WHERE chain_id = $1 AND address = $2`);
// Conflicts with the lock of `holdQueue`: that one waits for this lease to be taken, or this transaction sees the hold.
const lockAgainstHold = sql('LOCK TABLE leases IN ROW EXCLUSIVE MODE');
const take = sql(`INSERT INTO leases AS l (chain_id, address, holder, fence, expires_at)
  VALUES ($1, $2, $3, 1, instant_or($5) + $4)
  ON CONFLICT (chain_id, address) DO UPDATE SET holder = excluded.holder,
    expires_at = instant_or($5) + $4,
    fence = CASE WHEN l.holder = $3 AND l.expires_at > instant_or($5) THEN l.fence ELSE l.fence + 1 END,
    degraded =
      CASE WHEN l.holder = $3 AND l.expires_at > instant_or($5) THEN l.degraded ELSE '[]' END,
    parked = CASE WHEN l.holder = $3 AND l.expires_at > instant_or($5) THEN l.parked ELSE 0 END
  WHERE l.holder IS NULL OR l.holder = $3 OR l.expires_at <= instant_or($5) OR ${GOES_BEFORE}
  RETURNING fence`);
const extend = sql(`UPDATE leases SET expires_at = instant_or($5) + $6 WHERE ${IS_OWNED}`);
const giveUp = sql(`UPDATE leases SET holder = NULL, expires_at = 0 WHERE ${IS_OWNED}`);

/** The reason for degraded anchoring while senders are held. */
const REASON = 'restored';

const held = sql(`SELECT FROM restoration WHERE id = 1 AND NOT EXISTS
  (SELECT FROM reconciled_senders WHERE chain_id = $1 AND address = $2)`);
/** Locks all leases: waits for the writes of all anchorers, and keeps new ones out. Call it inside a write. */
export const takeLeases = sql('LOCK TABLE leases IN EXCLUSIVE MODE');
const begin = sql(`INSERT INTO restoration VALUES (1, $1)
  ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at`);
const forgetReconciled = sql('DELETE FROM reconciled_senders');
const endLeases = sql('UPDATE leases SET holder = NULL, expires_at = 0');
const replaceKey = sql(`UPDATE challenge_key
  SET key = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) WHERE id = 1`);
const lockRestoration = sql('SELECT FROM restoration WHERE id = 1 FOR SHARE');
const reconcile = sql(`INSERT INTO reconciled_senders
  SELECT DISTINCT chain_id, address, $3::bigint
  FROM unnest($1::bigint[], $2::text[]) AS s (chain_id, address) ORDER BY chain_id, address
  ON CONFLICT (chain_id, address) DO UPDATE SET reconciled_at = excluded.reconciled_at`);
const saveReasons = sql(`INSERT INTO chain_status AS s (id, degraded, updated_at) VALUES (1, $1, $2)
  ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at
  WHERE s.degraded <> excluded.degraded`);

/** The values `$1` to `$5` of `IS_OWNED`. */
export function ownership(
  { instant }: Pick<Access, 'instant'>,
  { chainId, sender, holder, fence }: Lease,
): SqlValue[] {
  return [chainId, sender, holder, fence, instant()];
}

/** Access for the holder of a lease. Rejects with `lease_lost` unless holder and fence own the lease now. */
export interface LeasedAccess {
  /** Locks the lease: a takeover waits for the commit, so no write of the former holder is durable after it. */
  write<T>(lease: Lease, work: (tx: Queries) => Promise<T>): Promise<T>;
  read<T>(lease: Lease, work: (tx: Queries) => Promise<T>): Promise<T>;
}

export function leasedAccess(access: Access): LeasedAccess {
  const holding =
    <T>(check: typeof owned, lease: Lease, work: (tx: Queries) => Promise<T>) =>
    async (tx: Queries) => {
      if ((await tx.first(check, ownership(access, lease))) === undefined) throw leaseLost();
      return work(tx);
    };
  return {
    write: (lease, work) => access.write(holding(lockOwned, lease, work)),
    read: (lease, work) => access.read(holding(owned, lease, work)),
  };
}

export function leaseLost(): SvcError {
  return new SvcError(
    'lease_lost',
    'The lease of the anchoring account has run out, or another process has taken it over.',
  );
}

export function leaseStore(
  access: Access,
): Pick<AnchorStore, 'listAnchorAddresses' | 'acquireLease' | 'renewLease' | 'releaseLease'> {
  async function update(statement: typeof extend, values: SqlValue[]): Promise<void> {
    if ((await access.run(statement, values)) === 0) throw leaseLost();
  }

  return {
    async listAnchorAddresses() {
      const rows = await access.rows<{ address: string }>(addresses);
      return rows.map(({ address }) => address);
    },

    async acquireLease({ chainId, address }, holder, ttlMs, now) {
      // Read without a lock first: instances that wait for a lease must not delay its holder.
      const found = await access.first<{ taken: boolean }>(peek, [
        chainId,
        address,
        holder,
        access.instant(),
      ]);
      if (found?.taken === true) return null;
      return access.write(async (tx) => {
        await tx.run(lockAgainstHold);
        if (await isHeld(tx, { chainId, address })) {
          await showHold(tx, now);
          return null;
        }
        const row = await tx.first<{ fence: number }>(take, [
          chainId,
          address,
          holder,
          ttlMs,
          access.instant(),
        ]);
        return row === undefined ? null : { chainId, sender: address, holder, fence: row.fence };
      });
    },

    renewLease: (lease, ttlMs) => update(extend, [...ownership(access, lease), ttlMs]),

    releaseLease: (lease) => update(giveUp, ownership(access, lease)),
  };
}

/**
 * Ends every lease and holds every sender, future ones too, until each is reconciled with the chain: a restored
 * database may lack anchors made after its backup. The reason `restored` is in the chain status; all other reasons are
 * in the senders' leases. Call it inside a write.
 */
export async function holdQueue(tx: Queries, now: number): Promise<void> {
  await tx.run(takeLeases);
  await tx.run(begin, [now]);
  await tx.run(forgetReconciled);
  await tx.run(endLeases);
  await tx.run(replaceKey);
  await showHold(tx, now);
}

/** Marks the senders as reconciled. Call it inside a write. */
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

async function isHeld(tx: Queries, { chainId, address }: SenderKey): Promise<boolean> {
  return (await tx.first(held, [chainId, address])) !== undefined;
}

/** Call it inside a write. */
async function showHold(tx: Queries, now: number): Promise<void> {
  await tx.run(saveReasons, [JSON.stringify([REASON]), now]);
}
