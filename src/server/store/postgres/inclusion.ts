// Stores the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { type IncludedRow, type MinedRow, toIncluded } from '../rows/anchoring.ts';
import { moveAttempts, readNextNonce } from './anchor-attempts.ts';
import { dropChainProofs, expectChainProofs } from './chain-proofs.ts';
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import { checkLease, requireLease } from './leases.ts';

const INCLUDED = `SELECT id, mined_tx_hash, mined_block_number, mined_block_hash, safe
  FROM attempts WHERE chain_id = $1 AND sender = $2 AND state = 'included'`;
const lowest = sql(`${INCLUDED} ORDER BY mined_block_number, id LIMIT $3`);
const highest = sql(`${INCLUDED} ORDER BY mined_block_number DESC, id DESC LIMIT $3`);
const below = sql(`${INCLUDED} AND (mined_block_number, id) < ($4, $5)
  ORDER BY mined_block_number DESC, id DESC LIMIT $3`);
const mined = sql(`SELECT a.id, a.mined_tx_hash, a.mined_block_number, a.mined_block_hash, a.safe,
    a.state, v.raw_tx
  FROM attempts a JOIN variants v ON v.tx_hash = a.mined_tx_hash
  WHERE a.chain_id = $1 AND a.sender = $2 AND a.nonce >= $3 AND a.state IN ('included', 'finalized')
  ORDER BY a.nonce LIMIT $4`);
const ownUse = sql(`SELECT FROM attempts
  WHERE chain_id = $1 AND sender = $2 AND nonce = $3 AND state <> 'dead'`);
const setSafe = sql('UPDATE attempts SET safe = $2, updated_at = $3 WHERE id = ANY($1::uuid[])');

export function inclusionStore(
  access: Access,
): Pick<
  AnchorStore,
  | 'listIncludedAttempts'
  | 'listIncludedBelow'
  | 'listMinedFrom'
  | 'isUsedElsewhere'
  | 'recordInclusionChanges'
> {
  const read = <T>(lease: Lease, work: (tx: Queries) => Promise<T>) =>
    access.read(async (tx) => {
      await checkLease(tx, access, lease);
      return work(tx);
    });

  return {
    listIncludedAttempts: (lease, limit) =>
      read(lease, async (tx) => {
        const values = [lease.chainId, lease.sender, limit];
        const first = await tx.rows<IncludedRow>(lowest, values);
        const last = await tx.rows<IncludedRow>(highest, values);
        const rows = [...first, ...last.reverse()];
        return [...new Map(rows.map((row) => [row.id, toIncluded(row)])).values()];
      }),

    listIncludedBelow: (lease, { blockNumber, id }, limit) =>
      read(lease, async (tx) => {
        const values = [lease.chainId, lease.sender, limit, blockNumber, id];
        return (await tx.rows<IncludedRow>(below, values)).map(toIncluded);
      }),

    listMinedFrom: (lease, fromNonce, limit) =>
      read(lease, async (tx) => {
        const values = [lease.chainId, lease.sender, fromNonce, limit];
        return (await tx.rows<MinedRow>(mined, values)).map((row) => ({
          ...toIncluded(row),
          isFinal: row.state === 'finalized',
          rawTx: row.raw_tx,
        }));
      }),

    isUsedElsewhere: (lease, nonce) =>
      read(lease, async (tx) => {
        const { chainId, sender } = lease;
        const next = await readNextNonce(tx, { chainId, address: sender });
        if (next === null || nonce >= next) return false;
        return (await tx.first(ownUse, [chainId, sender, nonce])) === undefined;
      }),

    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      access.write(async (tx) => {
        await requireLease(tx, access, lease);
        await moveAttempts(tx, lease, safe, 'become_safe', now);
        await moveAttempts(tx, lease, finalized, 'finalize', now);
        await moveAttempts(tx, lease, reorged, 'reorganize', now);
        await expectChainProofs(tx, finalized, now);
        await dropChainProofs(tx, reorged);
        if (safe.length > 0) await tx.run(setSafe, [safe, true, now]);
        if (reorged.length > 0) await tx.run(setSafe, [reorged, false, now]);
      }),
  };
}
