// Stores the leases of anchoring accounts, and the hold on anchoring after a restore.

import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../base/clock.ts';
import { SvcError } from '../../../base/svc-error.ts';
import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import type { SenderKey } from '../../ports/operations.ts';
import { goesBefore } from '../../rules/anchoring.ts';
import type { Access } from './engine/connections.ts';

/** Access for the holder of a lease. Rejects with `lease_lost` unless holder and fence own the lease now. */
export interface LeasedAccess {
  write<T>(lease: Lease, work: () => T): Promise<T>;
  read<T>(lease: Lease, query: () => T): Promise<T>;
}

interface LeaseRow {
  holder: string | null;
  fence: number;
  expires_at: number;
}

const REASON = 'restored';

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

  const held = holdReader(writer);

  return {
    listAnchorAddresses: () => read(() => addresses.all().map(({ address }) => address)),

    acquireLease: ({ chainId, address }, holder, ttlMs, now) =>
      write(() => {
        if (held({ chainId, address })) {
          showHold(writer, now);
          return null;
        }
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

/**
 * Ends every lease and holds every sender, future ones too, until each is reconciled with the chain: a restored
 * database may lack anchors made after its backup. The reason `restored` is in the chain status; all other reasons are
 * in the senders' leases. Call it inside a transaction.
 */
export function holdQueue(db: Database, now: number): void {
  db.prepare(
    `INSERT INTO restoration VALUES (1, ?)
     ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at`,
  ).run(now);
  db.exec(`
    DELETE FROM reconciled_senders;
    UPDATE leases SET holder = NULL, expires_at = 0;
    UPDATE challenge_key SET key = randomblob(32);
  `);
  showHold(db, now);
}

/** Marks the senders as reconciled. Call it inside a transaction. */
export function liftHold(db: Database, senders: readonly SenderKey[], now: number): void {
  if (db.prepare('SELECT 1 FROM restoration WHERE id = 1').get() === undefined) return;
  const lift = db.prepare(
    `INSERT INTO reconciled_senders VALUES (?, ?, ?)
     ON CONFLICT (chain_id, address) DO UPDATE SET reconciled_at = excluded.reconciled_at`,
  );
  for (const { chainId, address } of senders) lift.run(chainId, address, now);
  if (isShown(db)) saveReasons(db, [], now);
}

function holdReader(db: Database): (sender: SenderKey) => boolean {
  const held = db.prepare<[number, string]>(
    `SELECT 1 FROM restoration WHERE id = 1 AND NOT EXISTS
       (SELECT 1 FROM reconciled_senders WHERE chain_id = ? AND address = ?)`,
  );
  return ({ chainId, address }) => held.get(chainId, address) !== undefined;
}

function showHold(db: Database, now: number): void {
  if (!isShown(db)) saveReasons(db, [REASON], now);
}

function isShown(db: Database): boolean {
  const reason = db.prepare<[string]>(
    'SELECT 1 FROM chain_status, json_each(chain_status.degraded) WHERE json_each.value = ?',
  );
  return reason.get(REASON) !== undefined;
}

function saveReasons(db: Database, reasons: string[], now: number): void {
  db.prepare(
    `INSERT INTO chain_status (id, degraded, updated_at) VALUES (1, ?, ?)
     ON CONFLICT (id) DO UPDATE SET degraded = excluded.degraded, updated_at = excluded.updated_at`,
  ).run(JSON.stringify(reasons), now);
}
