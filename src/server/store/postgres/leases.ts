// Stores the leases of anchoring accounts.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { FOLLOWER } from '../../rules/anchoring.ts';
import { isHeld } from '../operations.ts';
import type { Queries } from './engine/connections.ts';
import { type SqlValue, sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import type { Access, LeasedAccess } from './engine/transactions.ts';

export type { LeasedAccess };

/** Condition: the lease is owned now. Its values come from `ownership`. */
const IS_OWNED = `chain_id = $1 AND address = $2 AND holder = $3 AND fence = $4
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

/** The values `$1` to `$5` of `IS_OWNED`. */
function ownership(
  { instant }: Pick<Access, 'instant'>,
  { chainId, sender, holder, fence }: Lease,
): SqlValue[] {
  return [chainId, sender, holder, fence, instant()];
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

function leaseLost(): SvcError {
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
        if (await runSteps(tx, isHeld({ chainId, address }, now))) return null;
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
