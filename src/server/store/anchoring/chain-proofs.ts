// Stores chain proofs: the final anchors that are due for one, and what was built for them.

import type { Hex } from '../../../proof/bytes.ts';
import type { ChainProof } from '../../../proof/chain-proof.ts';
import type { ChainProofStore, UnprovenAnchor } from '../../ports/anchoring.ts';
import type { Db, Tx } from '../db/database.ts';
import { onPostgres } from '../db/dialect.ts';
import { insertNew } from '../db/rows.ts';
import { raw, sql } from '../db/sql.ts';

/** More missing chain proofs are not counted, so that a read of the metrics stays short where none is built. */
const MOST_COUNTED = 100_000;

/** The condition of the index `chain_proofs_missing`. A row with `due_at` has no header. */
const IS_MISSING = raw('header IS NULL');

export type RecordedAnchorRow = Omit<UnprovenAnchor, 'blockNumber'> & { blockNumber: number };

/** The columns of a `RecordedAnchorRow`, from the chain proof `p`, its attempt `a` and its mined variant `v`. */
export const RECORDED_ANCHOR_COLUMNS = `p.attempt_id AS "attemptId", a.chain_id AS "chainId", a.sender,
  a.payload, a.mined_tx_hash AS "txHash", v.raw_tx AS "rawTx", a.mined_block_number AS "blockNumber",
  a.mined_block_hash AS "blockHash", a.mined_tx_index AS "txIndex", p.tries`;

export function toRecordedAnchor(row: RecordedAnchorRow): UnprovenAnchor {
  return { ...row, blockNumber: BigInt(row.blockNumber) };
}

/** Null if no chain proof is stored. `nodes` is a JSON array. */
export interface ChainProofRow {
  header: Hex | null;
  nodes: string | null;
}

export function toChainProof({ header, nodes }: ChainProofRow): ChainProof | null {
  return header === null || nodes === null ? null : { header, nodes: JSON.parse(nodes) };
}

export function chainProofStore({ get, one, run, write }: Db): ChainProofStore {
  return {
    async takeUnproven(limit, { firstMs, maxMs }, now) {
      const isDue = sql`${IS_MISSING} AND due_at <= ${now}`;
      // A time that is further ahead than the longest pause was set by a wrong clock.
      const isTooLate = sql`${IS_MISSING} AND due_at > ${now + maxMs}`;
      const any = await get(
        sql`SELECT attempt_id FROM chain_proofs WHERE (${isDue}) OR (${isTooLate}) LIMIT 1`,
      );
      if (any === null) return [];
      return write(async (tx) => {
        await tx.run(sql`UPDATE chain_proofs SET due_at = ${now} WHERE ${isTooLate}`);
        // SKIP LOCKED: two instances that ask at the same moment take different anchors.
        const due = await tx.all<{ id: string; tries: number }>(sql`
          SELECT attempt_id AS id, tries FROM chain_proofs WHERE ${isDue}
          ORDER BY due_at LIMIT ${limit} ${onPostgres(sql`FOR UPDATE SKIP LOCKED`)}`);
        const taken: UnprovenAnchor[] = [];
        for (const { id, tries } of due) {
          const pauseMs = Math.min(maxMs, firstMs * 2 ** tries);
          await tx.run(sql`UPDATE chain_proofs SET tries = tries + 1, due_at = ${now + pauseMs}
            WHERE attempt_id = ${id}`);
          const anchor = await recordedAnchor(tx, id);
          if (anchor !== null) taken.push(toRecordedAnchor(anchor));
        }
        return taken;
      });
    },

    async recordChainProof({ attemptId, txHash, blockHash }, { header, nodes }) {
      // A reorganization deletes the row. It waits for this statement, or this statement finds no row.
      const recorded = await run(sql`UPDATE chain_proofs
        SET header = ${header}, nodes = ${JSON.stringify(nodes)}, due_at = NULL
        WHERE attempt_id = ${attemptId} AND due_at IS NOT NULL AND EXISTS (
          SELECT 1 FROM attempts a WHERE a.id = attempt_id AND a.state = 'finalized'
            AND a.mined_tx_hash = ${txHash} AND a.mined_block_hash = ${blockHash})`);
      return recorded > 0;
    },

    async countMissingChainProofs() {
      const { total } = await one<{ total: number }>(sql`SELECT count(*) AS total FROM
        (SELECT 1 FROM chain_proofs WHERE ${IS_MISSING} LIMIT ${MOST_COUNTED}) AS missing`);
      return total;
    },
  };
}

function recordedAnchor(tx: Tx, attemptId: string) {
  return tx.get<RecordedAnchorRow>(sql`SELECT ${raw(RECORDED_ANCHOR_COLUMNS)}
    FROM chain_proofs p JOIN attempts a ON a.id = p.attempt_id
      JOIN variants v ON v.tx_hash = a.mined_tx_hash
    WHERE p.attempt_id = ${attemptId}`);
}

/** Makes attempts due for a chain proof. Call it inside the write that makes them final. */
export async function expectChainProofs(tx: Tx, attemptIds: readonly string[], now: number) {
  const due = attemptIds.map((id) => ({ attempt_id: id, due_at: now }));
  await insertNew(tx, 'chain_proofs', due);
}

/** Call it inside the write that records the attempts as reorganized. */
export async function dropChainProofs(tx: Tx, attemptIds: readonly string[]): Promise<void> {
  for (const id of attemptIds) {
    await tx.run(sql`DELETE FROM chain_proofs WHERE attempt_id = ${id}`);
  }
}
