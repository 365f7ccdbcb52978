// Stores the leases of anchoring accounts.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { FOLLOWER } from '../../rules/anchoring.ts';
import type { Db } from '../db/database.ts';
import { forShare, onPostgres } from '../db/dialect.ts';
import { NOW, raw, type Sql, sql } from '../db/sql.ts';
import type { Work } from '../db/tx.ts';
import { isHeld } from '../operations.ts';

/** The lease is owned now. */
function isOwned({ chainId, sender, holder, fence }: Lease): Sql {
  return sql`chain_id = ${chainId} AND address = ${sender} AND holder = ${holder} AND fence = ${fence}
    AND expires_at > ${NOW}`;
}

const FOLLOWS = raw(`substr(l.holder, 1, ${FOLLOWER.length}) = '${FOLLOWER}'`);

/** The holder of the lease `l` only follows, and the new one has the key. */
function goesBefore(holder: string): Sql {
  return holder.startsWith(FOLLOWER) ? sql`false` : FOLLOWS;
}

/**
 * The work of the holder of a lease. A write locks the lease: a takeover waits for the commit, so no write of the former
 * holder is durable after it. Throws `lease_lost` unless the lease is owned when the work begins, which may be long
 * after the call.
 */
export function whileOwned<Result>(
  use: 'read' | 'write',
  lease: Lease,
  work: Work<Result>,
): Work<Result> {
  return async (tx) => {
    const owned = sql`SELECT fence FROM leases WHERE ${isOwned(lease)}`;
    // FOR SHARE: writes of one holder run concurrently, and a takeover waits until they are committed.
    const found = await tx.get(use === 'read' ? owned : sql`${owned} ${forShare}`);
    if (found === undefined) throw leaseLost();
    return work(tx);
  };
}

function leaseLost(): SvcError {
  return new SvcError(
    'lease_lost',
    'The lease of the anchoring account has run out, or another process has taken it over.',
  );
}

export function leaseStore({ read, write }: Db) {
  async function update(lease: Lease, change: Sql): Promise<void> {
    const changed = await write((tx) =>
      tx.run(sql`UPDATE leases SET ${change} WHERE ${isOwned(lease)}`),
    );
    if (changed === 0) throw leaseLost();
  }

  return {
    async listAnchorAddresses() {
      const found = await read((tx) =>
        tx.all<{ address: string }>(sql`SELECT DISTINCT address FROM leases ORDER BY address`),
      );
      return found.map(({ address }) => address);
    },

    async acquireLease({ chainId, address }, holder, ttlMs, now) {
      // Read without a lock first: instances that wait for a lease must not delay its holder.
      const taken = await read((tx) =>
        tx.get(sql`SELECT fence FROM leases l WHERE chain_id = ${chainId} AND address = ${address}
          AND holder <> ${holder} AND expires_at > ${NOW} AND NOT (${goesBefore(holder)})`),
      );
      if (taken !== undefined) return null;
      return write(async (tx) => {
        // Conflicts with the lock of `holdQueue`: that one waits for this lease to be taken, or this transaction sees
        // the hold.
        await tx.run(onPostgres(sql`LOCK TABLE leases IN ROW EXCLUSIVE MODE`));
        if (await isHeld(tx, { chainId, address }, now)) return null;
        const isKept = sql`l.holder = ${holder} AND l.expires_at > ${NOW}`;
        const row = await tx.get<{ fence: number }>(sql`
          INSERT INTO leases AS l (chain_id, address, holder, fence, expires_at)
          VALUES (${chainId}, ${address}, ${holder}, 1, ${NOW} + ${ttlMs})
          ON CONFLICT (chain_id, address) DO UPDATE SET holder = excluded.holder,
            expires_at = excluded.expires_at,
            fence = CASE WHEN ${isKept} THEN l.fence ELSE l.fence + 1 END,
            degraded = CASE WHEN ${isKept} THEN l.degraded ELSE '[]' END,
            parked = CASE WHEN ${isKept} THEN l.parked ELSE 0 END
          WHERE l.holder IS NULL OR l.holder = ${holder} OR l.expires_at <= ${NOW}
            OR ${goesBefore(holder)}
          RETURNING fence`);
        return row === undefined ? null : { chainId, sender: address, holder, fence: row.fence };
      });
    },

    renewLease: (lease, ttlMs) => update(lease, sql`expires_at = ${NOW} + ${ttlMs}`),

    releaseLease: (lease) => update(lease, sql`holder = NULL, expires_at = 0`),
  } satisfies Partial<AnchorStore>;
}
