// Stores the leases of anchoring accounts.

import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../base/clock.ts';
import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { goesBefore } from '../../rules/anchoring.ts';
import { isHeld } from '../operations.ts';
import type { Access, LeasedAccess } from './engine/connections.ts';
import { runOn } from './engine/steps.ts';

export type { LeasedAccess };

interface LeaseRow {
  holder: string | null;
  fence: number;
  expires_at: number;
}

const NO_LEASE: LeaseRow = { holder: null, fence: 0, expires_at: 0 };

export function leasedAccess({ clock, reader, writer, read, write }: Access): LeasedAccess {
  const mayWrite = leaseGuard(writer, clock);
  const mayRead = leaseGuard(reader, clock);
  return {
    write: (lease, work) =>
      write(() => {
        mayWrite(lease);
        return work();
      }),
    read: (lease, query) =>
      read(() => {
        mayRead(lease);
        return query();
      }),
  };
}

/** Builds a guard that reads the lease on the given connection, inside the transaction it protects. */
function leaseGuard(db: Database, clock: Clock): (lease: Lease) => void {
  const find = db.prepare<[number, string], LeaseRow>(
    'SELECT holder, fence, expires_at FROM leases WHERE chain_id = ? AND address = ?',
  );
  return ({ chainId, sender, holder, fence }) => {
    const row = find.get(chainId, sender);
    if (row?.holder !== holder || row.fence !== fence) {
      throw new SvcError('lease_lost', 'Another process has taken over the anchoring account.');
    }
    // The current time, not the caller's: the lease may have expired while the write waited.
    if (row.expires_at <= clock.now()) {
      throw new SvcError('lease_lost', 'The lease of the anchoring account has run out.');
    }
  };
}

/** Ends all leases. Call it after taking the file's lock: then every former holder has ended. */
export function endLeases(db: Database): void {
  db.exec('UPDATE leases SET holder = NULL, expires_at = 0');
}

export function leaseStore(
  { reader, writer, write, read }: Access,
  leased: LeasedAccess,
): Pick<AnchorStore, 'listAnchorAddresses' | 'acquireLease' | 'renewLease' | 'releaseLease'> {
  const addresses = reader.prepare<[], { address: string }>(
    'SELECT DISTINCT address FROM leases ORDER BY address',
  );
  const find = writer.prepare<[number, string], LeaseRow>(
    'SELECT holder, fence, expires_at FROM leases WHERE chain_id = ? AND address = ?',
  );
  const take = writer.prepare<[number, string, string, number, number]>(
    `INSERT INTO leases (chain_id, address, holder, fence, expires_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (chain_id, address) DO UPDATE SET
       holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at,
       degraded = iif(fence = excluded.fence, degraded, '[]'),
       parked = iif(fence = excluded.fence, parked, 0)`,
  );
  const extend = writer.prepare<[number, number, string]>(
    'UPDATE leases SET expires_at = ? WHERE chain_id = ? AND address = ?',
  );
  const giveUp = writer.prepare<[number, string]>(
    'UPDATE leases SET holder = NULL, expires_at = 0 WHERE chain_id = ? AND address = ?',
  );

  const run = runOn(writer);

  return {
    listAnchorAddresses: () => read(() => addresses.all().map(({ address }) => address)),

    acquireLease: ({ chainId, address }, holder, ttlMs, now) =>
      write(() => {
        if (run(isHeld({ chainId, address }, now))) return null;
        const { holder: other, fence: last, expires_at } = find.get(chainId, address) ?? NO_LEASE;
        const isTaken = other !== null && expires_at > now;
        if (isTaken && other !== holder && !goesBefore(holder, other)) return null;
        const fence = isTaken && other === holder ? last : last + 1;
        take.run(chainId, address, holder, fence, now + ttlMs);
        return { chainId, sender: address, holder, fence };
      }),

    renewLease: (lease, ttlMs, now) =>
      leased.write(lease, () => {
        extend.run(now + ttlMs, lease.chainId, lease.sender);
      }),

    releaseLease: (lease) =>
      leased.write(lease, () => {
        giveUp.run(lease.chainId, lease.sender);
      }),
  };
}
