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
import { moveAttempts, readNextNonce } from './anchor-attempts.ts';
import { dropChainProofs, expectChainProofs } from './chain-proofs.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import { leasedAccess } from './leases.ts';

const lowest = sql(selectIncluded.lowest);
const highest = sql(selectIncluded.highest);
const below = sql(selectIncluded.below);
const mined = sql(SELECT_MINED);
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
  const { write, read } = leasedAccess(access);

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
        return (await tx.rows<MinedRow>(mined, values)).map(toMined);
      }),

    isUsedElsewhere: (lease, nonce) =>
      read(lease, async (tx) => {
        const { chainId, sender } = lease;
        const next = await readNextNonce(tx, { chainId, address: sender });
        if (next === null || nonce >= next) return false;
        return (await tx.first(ownUse, [chainId, sender, nonce])) === undefined;
      }),

    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      write(lease, async (tx) => {
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
