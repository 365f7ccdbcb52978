// Stores the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore } from '../../ports/anchoring.ts';
import { type IncludedRow, type MinedRow, toIncluded } from '../rows/anchoring.ts';
import { attemptMover, nextNonceReader } from './anchor-attempts.ts';
import { chainProofsDue } from './chain-proofs.ts';
import type { Access } from './engine/connections.ts';
import type { LeaseGuard } from './leases.ts';

export function inclusionStore(
  { reader, writer, write, read }: Access,
  guard: LeaseGuard,
  readGuard: LeaseGuard,
): Pick<
  AnchorStore,
  | 'listIncludedAttempts'
  | 'listIncludedBelow'
  | 'listMinedFrom'
  | 'isUsedElsewhere'
  | 'recordInclusionChanges'
> {
  const included = `SELECT id, mined_tx_hash, mined_block_number, mined_block_hash, safe
    FROM attempts WHERE chain_id = ? AND sender = ? AND state = 'included'`;
  const lowest = reader.prepare<[number, string, number], IncludedRow>(
    `${included} ORDER BY mined_block_number, id LIMIT ?`,
  );
  const highest = reader.prepare<[number, string, number], IncludedRow>(
    `${included} ORDER BY mined_block_number DESC, id DESC LIMIT ?`,
  );
  const below = reader.prepare<[number, string, bigint, string, number], IncludedRow>(
    `${included} AND (mined_block_number, id) < (?, ?)
     ORDER BY mined_block_number DESC, id DESC LIMIT ?`,
  );
  const mined = reader.prepare<[number, string, number, number], MinedRow>(
    `SELECT a.id, a.mined_tx_hash, a.mined_block_number, a.mined_block_hash, a.safe, a.state, v.raw_tx
     FROM attempts a JOIN variants v ON v.tx_hash = a.mined_tx_hash
     WHERE a.chain_id = ? AND a.sender = ? AND a.nonce >= ? AND a.state IN ('included', 'finalized')
     ORDER BY a.nonce LIMIT ?`,
  );
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
      read(() => {
        readGuard(lease);
        const { chainId, sender } = lease;
        const rows = [
          ...lowest.all(chainId, sender, limit),
          ...highest.all(chainId, sender, limit).reverse(),
        ];
        return [...new Map(rows.map((row) => [row.id, toIncluded(row)])).values()];
      }),

    listIncludedBelow: (lease, { blockNumber, id }, limit) =>
      read(() => {
        readGuard(lease);
        const { chainId, sender } = lease;
        return below.all(chainId, sender, blockNumber, id, limit).map(toIncluded);
      }),

    listMinedFrom: (lease, fromNonce, limit) =>
      read(() => {
        readGuard(lease);
        const { chainId, sender } = lease;
        return mined.all(chainId, sender, fromNonce, limit).map((row) => ({
          ...toIncluded(row),
          isFinal: row.state === 'finalized',
          rawTx: row.raw_tx,
        }));
      }),

    isUsedElsewhere: (lease, nonce) =>
      read(() => {
        readGuard(lease);
        const isUsed = nonce < (nextNonce(lease) ?? 0);
        return isUsed && ownUse.get(lease.chainId, lease.sender, nonce) === undefined;
      }),

    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      write(() => {
        guard(lease);
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
