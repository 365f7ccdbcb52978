// Stores chain proofs: the final anchors that are due for one, and what was built for them.

import type { ChainProofStore } from '../../ports/chain-proofs.ts';
import {
  MOST_COUNTED,
  RECORDED_ANCHOR_COLUMNS,
  type RecordedAnchorRow,
  toRecordedAnchor,
} from '../rows/chain-proofs.ts';
import type { Queries } from './engine/connections.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';

const anyDue = sql('SELECT FROM chain_proofs WHERE header IS NULL AND due_at <= $1 LIMIT 1');
// SKIP LOCKED: two instances that ask at the same moment take different anchors.
const take = sql(`WITH oldest AS (
    SELECT attempt_id, due_at FROM chain_proofs WHERE header IS NULL AND due_at <= $2
    ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), p AS (
    UPDATE chain_proofs c SET tries = tries + 1,
      due_at = $2 + least($4::bigint, $3::bigint << least(tries, 30))
    FROM oldest WHERE c.attempt_id = oldest.attempt_id
    RETURNING c.attempt_id, c.tries, oldest.due_at
  )
  SELECT ${RECORDED_ANCHOR_COLUMNS} FROM p
  JOIN attempts a ON a.id = p.attempt_id
  JOIN variants v ON v.tx_hash = a.mined_tx_hash
  ORDER BY p.due_at`);
// A reorganization deletes the row. It waits for this statement, or this statement finds no row.
const record = sql(`UPDATE chain_proofs SET header = $4, nodes = $5, due_at = NULL
  WHERE attempt_id = $1 AND due_at IS NOT NULL AND EXISTS (SELECT FROM attempts a
    WHERE a.id = attempt_id AND a.state = 'finalized'
      AND a.mined_tx_hash = $2 AND a.mined_block_hash = $3)`);
const countMissing = sql(`SELECT count(*) AS total FROM
  (SELECT FROM chain_proofs WHERE header IS NULL LIMIT ${MOST_COUNTED}) AS missing`);
const add = sql(
  'INSERT INTO chain_proofs (attempt_id, due_at) SELECT id, $2 FROM unnest($1::uuid[]) AS u (id)',
);
const remove = sql('DELETE FROM chain_proofs WHERE attempt_id = ANY($1::uuid[])');

export function chainProofStore(access: Access): ChainProofStore {
  return {
    async takeUnproven(limit, { firstMs, maxMs }, now) {
      if ((await access.first(anyDue, [now])) === undefined) return [];
      const rows = await access.rows<RecordedAnchorRow>(take, [limit, now, firstMs, maxMs]);
      return rows.map(toRecordedAnchor);
    },

    async recordChainProof({ attemptId, txHash, blockHash }, proof) {
      const values = [attemptId, txHash, blockHash, proof.header, JSON.stringify(proof.nodes)];
      return (await access.run(record, values)) > 0;
    },

    async countMissingChainProofs() {
      return (await access.first<{ total: number }>(countMissing))?.total ?? 0;
    },
  };
}

/** Makes attempts due for a chain proof. Call it inside the write that makes them final. */
export async function expectChainProofs(
  tx: Queries,
  attemptIds: readonly string[],
  now: number,
): Promise<void> {
  if (attemptIds.length > 0) await tx.run(add, [attemptIds, now]);
}

/** Call it inside the write that records the attempts as reorganized. */
export async function dropChainProofs(tx: Queries, attemptIds: readonly string[]): Promise<void> {
  if (attemptIds.length > 0) await tx.run(remove, [attemptIds]);
}
