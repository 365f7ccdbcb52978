// Stores the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore } from '../../ports/anchoring.ts';
import {
  type IncludedRow,
  type MinedRow,
  SELECT_MINED,
  selectIncluded,
  toIncluded,
  toMined,
} from '../rows/anchoring.ts';
import { attemptMover, nextNonceReader } from './anchor-attempts.ts';
import { chainProofsDue } from './chain-proofs.ts';
import { type Access, numbered } from './engine/connections.ts';
import type { LeasedAccess } from './leases.ts';

export function inclusionStore(
  { reader, writer }: Access,
  leased: LeasedAccess,
): Pick<
  AnchorStore,
  | 'listIncludedAttempts'
  | 'listIncludedBelow'
  | 'listMinedFrom'
  | 'isUsedElsewhere'
  | 'recordInclusionChanges'
> {
  const lowest = reader.prepare<object, IncludedRow>(selectIncluded.lowest);
  const highest = reader.prepare<object, IncludedRow>(selectIncluded.highest);
  const below = reader.prepare<object, IncludedRow>(selectIncluded.below);
  const mined = reader.prepare<object, MinedRow>(SELECT_MINED);
  const nextNonce = nextNonceReader(reader);
  const ownUse = reader.prepare<[number, string, number]>(
    `SELECT 1 FROM attempts WHERE chain_id = ? AND sender = ? AND nonce = ? AND state <> 'dead'`,
  );
  const move = attemptMover(writer);
  const chainProofs = chainProofsDue(writer);
  const setSafe = writer.prepare<[0 | 1, number, string]>(
    'UPDATE attempts SET safe = ?, updated_at = ? WHERE id = ?',
  );

  return {
    listIncludedAttempts: (lease, limit) =>
      leased.read(lease, () => {
        const values = numbered(lease.chainId, lease.sender, limit);
        const rows = [...lowest.all(values), ...highest.all(values).reverse()];
        return [...new Map(rows.map((row) => [row.id, toIncluded(row)])).values()];
      }),

    listIncludedBelow: (lease, { blockNumber, id }, limit) =>
      leased.read(lease, () => {
        const { chainId, sender } = lease;
        return below.all(numbered(chainId, sender, limit, blockNumber, id)).map(toIncluded);
      }),

    listMinedFrom: (lease, fromNonce, limit) =>
      leased.read(lease, () => {
        const { chainId, sender } = lease;
        return mined.all(numbered(chainId, sender, fromNonce, limit)).map(toMined);
      }),

    isUsedElsewhere: (lease, nonce) =>
      leased.read(lease, () => {
        const isUsed = nonce < (nextNonce(lease) ?? 0);
        return isUsed && ownUse.get(lease.chainId, lease.sender, nonce) === undefined;
      }),

    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      leased.write(lease, () => {
        for (const id of safe) {
          move(lease, id, 'become_safe', now);
          setSafe.run(1, now, id);
        }
        for (const id of finalized) {
          move(lease, id, 'finalize', now);
          chainProofs.expect(id, now);
        }
        for (const id of reorged) {
          move(lease, id, 'reorganize', now);
          chainProofs.drop(id);
          setSafe.run(0, now, id);
        }
      }),
  };
}
