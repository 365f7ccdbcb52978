// Stores the inclusion of attempts: safe, final or reorganized out (step 7 of anchoring).

import type { AnchorStore, Lease } from '../../ports/anchoring.ts';
import { among, rows, type StepRunner, some } from '../engine/steps.ts';
import {
  type IncludedRow,
  type MinedRow,
  SELECT_MINED,
  selectIncluded,
  toIncluded,
  toMined,
} from '../rows/anchoring.ts';
import { moveAttempts, nextNonce } from './anchor-attempts.ts';
import { dropChainProofs, expectChainProofs } from './chain-proofs.ts';

export const inclusionSql = {
  ...selectIncluded,
  mined: SELECT_MINED,
  ownUse: `SELECT id FROM attempts
    WHERE chain_id = $1 AND sender = $2 AND nonce = $3 AND state <> 'dead'`,
  setSafe: `UPDATE attempts SET safe = ($2 = 1), updated_at = $3 WHERE id ${among('uuid', 1)}`,
} as const;

export function inclusionStore({ leased: { read, write } }: StepRunner) {
  const included = (text: string, { chainId, sender }: Lease, ...values: (string | number)[]) =>
    rows<IncludedRow>(text, chainId, sender, ...values);

  return {
    listIncludedAttempts: (lease, limit) =>
      read(lease, function* () {
        const lowest = yield* included(inclusionSql.lowest, lease, limit);
        const highest = yield* included(inclusionSql.highest, lease, limit);
        const found = [...lowest, ...highest.reverse()];
        return [...new Map(found.map((row) => [row.id, toIncluded(row)])).values()];
      }),

    listIncludedBelow: (lease, { blockNumber, id }, limit) =>
      read(lease, function* () {
        const values = [limit, Number(blockNumber), id];
        return (yield* included(inclusionSql.below, lease, ...values)).map(toIncluded);
      }),

    listMinedFrom: (lease, fromNonce, limit) =>
      read(lease, function* () {
        const { chainId, sender } = lease;
        const values = [chainId, sender, fromNonce, limit];
        return (yield* rows<MinedRow>(inclusionSql.mined, ...values)).map(toMined);
      }),

    isUsedElsewhere: (lease, nonce) =>
      read(lease, function* () {
        const { chainId, sender } = lease;
        const next = yield* nextNonce({ chainId, address: sender });
        if (next === null || nonce >= next) return false;
        return !(yield* some(inclusionSql.ownUse, chainId, sender, nonce));
      }),

    recordInclusionChanges: (lease, { safe, finalized, reorged }, now) =>
      write(lease, function* () {
        yield* moveAttempts(lease, safe, 'become_safe', now);
        yield* moveAttempts(lease, finalized, 'finalize', now);
        yield* moveAttempts(lease, reorged, 'reorganize', now);
        yield* expectChainProofs(finalized, now);
        yield* dropChainProofs(reorged);
        yield* rows(inclusionSql.setSafe, JSON.stringify(safe), 1, now);
        yield* rows(inclusionSql.setSafe, JSON.stringify(reorged), 0, now);
      }),
  } satisfies Partial<AnchorStore>;
}
