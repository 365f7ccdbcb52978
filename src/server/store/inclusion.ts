// Reads the inclusion of attempts: those whose block is not final yet, and used nonces (step 7 of anchoring).

import type { AnchorStore, Lease } from '../ports/anchoring.ts';
import { nextNonce } from './operations.ts';
import {
  type IncludedRow,
  type MinedRow,
  SELECT_MINED,
  selectIncluded,
  toIncluded,
  toMined,
} from './rows/anchoring.ts';
import { rows, type StepRunner, some } from './steps.ts';

export const inclusionSql = {
  ...selectIncluded,
  mined: SELECT_MINED,
  ownUse: `SELECT id FROM attempts
    WHERE chain_id = $1 AND sender = $2 AND nonce = $3 AND state <> 'dead'`,
} as const;

export function inclusionReads({
  leased: { read },
}: StepRunner): Pick<
  AnchorStore,
  'listIncludedAttempts' | 'listIncludedBelow' | 'listMinedFrom' | 'isUsedElsewhere'
> {
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
  };
}
