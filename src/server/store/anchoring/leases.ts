// Stores the leases of anchoring accounts.

import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { FOLLOWER } from '../../rules/anchoring.ts';
import {
  first,
  lockRows,
  rows,
  type StepRunner,
  type Steps,
  type StepValue,
  some,
} from '../engine/steps.ts';
import { isHeld } from '../operations.ts';

/** Condition: the lease is owned now. Its values come from `ownership`. */
const IS_OWNED = `chain_id = $1 AND address = $2 AND holder = $3 AND fence = $4
  AND expires_at > instant_or($5)`;
const follows = (holder: string) => `substr(${holder}, 1, ${FOLLOWER.length}) = '${FOLLOWER}'`;
/** `$3` has the key, and the holder of the lease `l` only follows. */
const GOES_BEFORE = `(${follows('l.holder')} AND NOT ${follows('$3::text')})`;
const IS_KEPT = 'l.holder = $3 AND l.expires_at > instant_or($5)';

export const leaseSql = {
  owned: `SELECT fence FROM leases WHERE ${IS_OWNED}`,
  // FOR SHARE: writes of one holder run concurrently, and a takeover waits until they are committed.
  lockOwned: `SELECT fence FROM leases WHERE ${IS_OWNED} FOR SHARE`,
  addresses: 'SELECT DISTINCT address FROM leases ORDER BY address',
  taken: `SELECT fence FROM leases l WHERE chain_id = $1 AND address = $2
    AND holder <> $3 AND expires_at > instant_or($4) AND NOT ${GOES_BEFORE}`,
  // Conflicts with the lock of `holdQueue`: that one waits for this lease to be taken, or this transaction sees the hold.
  lockAgainstHold: 'LOCK TABLE leases IN ROW EXCLUSIVE MODE',
  take: `INSERT INTO leases AS l (chain_id, address, holder, fence, expires_at)
    VALUES ($1, $2, $3, 1, instant_or($5) + $4)
    ON CONFLICT (chain_id, address) DO UPDATE SET holder = excluded.holder,
      expires_at = excluded.expires_at,
      fence = CASE WHEN ${IS_KEPT} THEN l.fence ELSE l.fence + 1 END,
      degraded = CASE WHEN ${IS_KEPT} THEN l.degraded ELSE '[]' END,
      parked = CASE WHEN ${IS_KEPT} THEN l.parked ELSE 0 END
    WHERE l.holder IS NULL OR l.holder = $3 OR l.expires_at <= instant_or($5) OR ${GOES_BEFORE}
    RETURNING fence`,
  extend: `UPDATE leases SET expires_at = instant_or($5) + $6 WHERE ${IS_OWNED} RETURNING fence`,
  giveUp: `UPDATE leases SET holder = NULL, expires_at = 0 WHERE ${IS_OWNED} RETURNING fence`,
} as const;

/** The values `$1` to `$5` of `IS_OWNED`. */
function ownership({ chainId, sender, holder, fence }: Lease, instant: number | null): StepValue[] {
  return [chainId, sender, holder, fence, instant];
}

/**
 * Runs the steps of the holder of a lease. A write locks the lease: a takeover waits for the commit, so no write of the
 * former holder is durable after it.
 *
 * @throws SvcError `lease_lost` unless the lease is owned at the instant.
 */
export function* whileOwned<Result>(
  use: 'read' | 'write',
  lease: Lease,
  instant: number | null,
  steps: () => Steps<Result>,
): Steps<Result> {
  const statement = use === 'read' ? leaseSql.owned : leaseSql.lockOwned;
  if (!(yield* some(statement, ...ownership(lease, instant)))) throw leaseLost();
  return yield* steps();
}

function leaseLost(): SvcError {
  return new SvcError(
    'lease_lost',
    'The lease of the anchoring account has run out, or another process has taken it over.',
  );
}

export function leaseStore({ read, write, instant }: StepRunner) {
  async function update(statement: string, lease: Lease, ...values: StepValue[]): Promise<void> {
    const found = await write(() => some(statement, ...ownership(lease, instant()), ...values));
    if (!found) throw leaseLost();
  }

  return {
    async listAnchorAddresses() {
      const found = await read(() => rows<{ address: string }>(leaseSql.addresses));
      return found.map(({ address }) => address);
    },

    async acquireLease({ chainId, address }, holder, ttlMs, now) {
      const key = [chainId, address, holder];
      // Read without a lock first: instances that wait for a lease must not delay its holder.
      if (await read(() => some(leaseSql.taken, ...key, instant()))) return null;
      return write(function* () {
        yield* lockRows(leaseSql.lockAgainstHold);
        if (yield* isHeld({ chainId, address }, now)) return null;
        const row = yield* first<{ fence: number }>(leaseSql.take, ...key, ttlMs, instant());
        return row === undefined ? null : { chainId, sender: address, holder, fence: row.fence };
      });
    },

    renewLease: (lease, ttlMs) => update(leaseSql.extend, lease, ttlMs),

    releaseLease: (lease) => update(leaseSql.giveUp, lease),
  } satisfies Partial<AnchorStore>;
}
