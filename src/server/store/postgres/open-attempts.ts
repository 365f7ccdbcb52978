import type { OpenAttempt, Variant } from '../../core/anchor-store.ts';
import type { SenderKey } from '../../core/operations-store.ts';
import {
  type OpenAttemptRow,
  toOpenAttempt,
  toVariant,
  VARIANT_COLUMNS,
  type VariantRow,
} from '../attempt-rows.ts';
import type { Queries } from './connections.ts';
import { sql } from './sql.ts';

/** The condition is the index's own, or the index cannot serve it. */
export const IS_OPEN = `(state IN ('signed', 'submitted', 'reorged')
  OR (state IN ('included', 'finalized') AND unsettled_leaves > 0))`;

const openAttempts = sql(`SELECT id, chain_id, sender, nonce, state, payload, leaf_count,
    unsettled_leaves, mined_tx_hash, created_at, f.tx_hash AS taken_by
  FROM attempts LEFT JOIN foreign_nonces f USING (chain_id, sender, nonce)
  WHERE (chain_id, sender) IN (SELECT * FROM unnest($1::bigint[], $2::text[])) AND ${IS_OPEN}
  ORDER BY nonce`);
const variantsOf = sql(`SELECT attempt_id, ${VARIANT_COLUMNS} FROM variants
  WHERE attempt_id = ANY($1::uuid[]) ORDER BY seq`);

/** What each of the senders has open, as `listOpenAttempts`; lowest nonce first. */
export async function readOpenAttempts(
  tx: Queries,
  senders: readonly SenderKey[],
): Promise<(SenderKey & { attempt: OpenAttempt })[]> {
  const rows = await tx.rows<OpenAttemptRow & { chain_id: number; sender: string }>(openAttempts, [
    senders.map(({ chainId }) => chainId),
    senders.map(({ address }) => address),
  ]);
  const variants = new Map(rows.map(({ id }): [string, Variant[]] => [id, []]));
  for (const row of await tx.rows<VariantRow & { attempt_id: string }>(variantsOf, [
    [...variants.keys()],
  ])) {
    variants.get(row.attempt_id)?.push(toVariant(row));
  }
  return rows.map((row) => ({
    chainId: row.chain_id,
    address: row.sender,
    attempt: toOpenAttempt(row, variants.get(row.id) ?? []),
  }));
}
