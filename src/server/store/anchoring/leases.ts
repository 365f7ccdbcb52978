// Stores the leases of anchoring accounts.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { FOLLOWER } from '../../rules/anchoring.ts';
import type { Db, Work } from '../db/database.ts';
import { forShare, onPostgres } from '../db/dialect.ts';
import { NOW, perDialect, raw, type Sql, sql } from '../db/sql.ts';
import { isHeld } from '../operations.ts';

/** The lease is owned now. */
function isOwned({ chainId, sender, holder, fence }: Lease): Sql {
  return sql`chain_id = ${chainId} AND address = ${sender} AND holder = ${holder} AND fence = ${fence}
    AND expires_at > ${NOW}`;
}

const FOLLOWS = raw(`substr(l.holder, 1, ${FOLLOWER.length}) = '${FOLLOWER}'`);

/** The first key of the advisory locks of presence: an arbitrary number, unique in this service. */
export const PRESENCE = 738_392;

/**
 * After this time without presence, in ms, a process counts as ended. One that only lost its session has reconnected by
 * then.
 */
const GONE_MS = 1_000;

/** The holder of the lease `l` announced its presence, and is gone. */
const IS_GONE = perDialect({
  sqlite: sql`false`,
  postgres: sql`l.presence IS NOT NULL AND NOT EXISTS (SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND classid = ${raw(String(PRESENCE))} AND objid = l.presence AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
});

/** The holder of the lease `l` has no key, and the new holder has it. */
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
    if (found === null) throw leaseLost();
    return work(tx);
  };
}

function leaseLost(): SvcError {
  return new SvcError(
    'lease_lost',
    'The lease of the anchoring account has run out, or another process has taken it over.',
  );
}

/**
 * Remembers when each holder was first seen to be gone. Returns whether it was gone at every check for `GONE_MS`, without
 * a new session of this process in between: a restart of PostgreSQL ends the sessions of all.
 */
function watchHolders(presence: Db['presence']) {
  const firstGone = new Map<string, number>();
  return (lease: string, isGone: boolean | 0 | 1): boolean => {
    const session = presence();
    const first = firstGone.get(lease) ?? Number.NEGATIVE_INFINITY;
    if (!isGone || session === null) firstGone.delete(lease);
    else if (first < session.since) firstGone.set(lease, performance.now());
    else return performance.now() - first >= GONE_MS;
    return false;
  };
}

export function leaseStore({ all, get, run, write, presence }: Db) {
  const hasEnded = watchHolders(presence);
  const ownPresence = () => presence()?.key ?? null;

  async function update(lease: Lease, change: Sql): Promise<void> {
    const changed = await run(sql`UPDATE leases SET ${change} WHERE ${isOwned(lease)}`);
    if (changed === 0) throw leaseLost();
  }

  return {
    async listAnchorAddresses() {
      const found = await all<{ address: string }>(
        sql`SELECT DISTINCT address FROM leases ORDER BY address`,
      );
      return found.map(({ address }) => address);
    },

    async acquireLease({ chainId, address }, holder, ttlMs, now) {
      // Read without a lock first: instances that wait for a lease must not delay its holder.
      const taken = await get<{
        fence: number;
        gone: boolean | 0 | 1;
      }>(sql`SELECT fence, ${IS_GONE} AS gone
        FROM leases l WHERE chain_id = ${chainId} AND address = ${address}
          AND holder <> ${holder} AND expires_at > ${NOW} AND NOT (${goesBefore(holder)})`);
      if (taken && !hasEnded(`${chainId} ${address} ${taken.fence}`, taken.gone)) return null;
      return write(async (tx) => {
        // Conflicts with the lock of `holdQueue`: that one waits for this lease to be taken, or this transaction sees
        // the hold.
        await tx.run(onPostgres(sql`LOCK TABLE leases IN ROW EXCLUSIVE MODE`));
        if (await isHeld(tx, { chainId, address }, now)) return null;
        const isKept = sql`l.holder = ${holder} AND l.expires_at > ${NOW}`;
        const row = await tx.get<{ fence: number }>(sql`
          INSERT INTO leases AS l (chain_id, address, holder, fence, expires_at, presence)
          VALUES (${chainId}, ${address}, ${holder}, 1, ${NOW} + ${ttlMs}, ${ownPresence()})
          ON CONFLICT (chain_id, address) DO UPDATE SET holder = excluded.holder,
            expires_at = excluded.expires_at, presence = excluded.presence,
            fence = CASE WHEN ${isKept} THEN l.fence ELSE l.fence + 1 END,
            degraded = CASE WHEN ${isKept} THEN l.degraded ELSE '[]' END,
            parked = CASE WHEN ${isKept} THEN l.parked ELSE 0 END
          WHERE l.holder IS NULL OR l.holder = ${holder} OR l.expires_at <= ${NOW}
            OR ${goesBefore(holder)} OR (l.fence = ${taken?.fence ?? 0} AND ${IS_GONE})
          RETURNING fence`);
        return row === null ? null : { chainId, sender: address, holder, fence: row.fence };
      });
    },

    renewLease: (lease, ttlMs) =>
      update(lease, sql`expires_at = ${NOW} + ${ttlMs}, presence = ${ownPresence()}`),

    releaseLease: (lease) => update(lease, sql`holder = NULL, expires_at = 0`),
  } satisfies Partial<AnchorStore>;
}
