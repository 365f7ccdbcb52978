// Stores evidence: reads it, assembles bundles, and erases it.

import type { Hex } from '../../../proof/bytes.ts';
import type { EvidenceRecord, EvidenceStore } from '../../ports/evidence.ts';
import { type ChainProofRow, toChainProof } from '../rows/chain-proofs.ts';
import { openProof } from '../rows/evidence.ts';
import { sql } from './engine/sql.ts';
import type { Access } from './engine/transactions.ts';
import {
  IS_VISIBLE,
  toWholeTask,
  viewerValues,
  WHOLE_TASK_COLUMNS,
  WHOLE_TASK_JOINS,
  type WholeTaskRow,
} from './tasks.ts';

type EvidenceRow = WholeTaskRow & { sealed: Buffer | null; key: Buffer | null };

interface BundleRow extends ChainProofRow {
  robot_name: string;
  mined_block_hash: Hex | null;
  mined_tx_index: number | null;
  raw_tx: Hex | null;
}

const EVIDENCE_COLUMNS = `${WHOLE_TASK_COLUMNS}, p.sealed, p.key`;
const EVIDENCE_JOINS = `${WHOLE_TASK_JOINS} LEFT JOIN proofs p ON p.task_id = t.id`;

const findEvidence = sql(`SELECT ${EVIDENCE_COLUMNS} FROM tasks t ${EVIDENCE_JOINS}
  WHERE t.id = $1 AND ${IS_VISIBLE}`);
const findBundle = sql(`SELECT ${EVIDENCE_COLUMNS}, robots.name AS robot_name, ra.mined_block_hash,
    ra.mined_tx_index, v.raw_tx, cp.header, cp.nodes
  FROM tasks t ${EVIDENCE_JOINS}
  JOIN robots ON robots.id = t.robot_id
  LEFT JOIN variants v ON v.tx_hash = ra.mined_tx_hash
  LEFT JOIN chain_proofs cp ON cp.attempt_id = ra.id
  WHERE t.id = $1 AND ${IS_VISIBLE}`);
const erase = sql(`WITH erased AS (
    DELETE FROM proofs WHERE task_id IN (SELECT id FROM tasks WHERE id = $1 AND wallet = $2)
  )
  SELECT EXISTS (SELECT FROM completions c WHERE c.task_id = t.id) AS completed
  FROM tasks t WHERE t.id = $1 AND t.wallet = $2`);
// An array, because a plan may run a subquery more than once, and delete more than the limit.
const eraseOldest = sql(`DELETE FROM proofs WHERE task_id = ANY(ARRAY(
  SELECT task_id FROM proofs WHERE stored_at < $1 ORDER BY stored_at LIMIT $2
  FOR UPDATE SKIP LOCKED))`);

/**
 * No query finds erased evidence once the promise resolves. Outside of queries, PostgreSQL keeps the key and the sealed
 * evidence for a while:
 * - in the table's files, until a vacuum frees the rows (autovacuum runs once 50 rows and 2 % of the table are erased)
 *   and new rows overwrite them, which only `VACUUM FULL proofs` forces;
 * - in the write-ahead log, until its files are recycled;
 * - in replicas, archives and earlier backups, as long as those are kept.
 */
export function evidenceStore(access: Access): EvidenceStore {
  return {
    async getEvidence(id, viewer) {
      const row = await access.first<EvidenceRow>(findEvidence, [id, ...viewerValues(viewer)]);
      return row === undefined ? null : toEvidence(row);
    },

    async getBundle(id, viewer) {
      const row = await access.first<EvidenceRow & BundleRow>(findBundle, [
        id,
        ...viewerValues(viewer),
      ]);
      if (row === undefined) return null;
      const { robot_name: robotName, mined_block_hash: blockHash } = row;
      const { mined_tx_index: txIndex, raw_tx: rawTx } = row;
      const isMined = blockHash !== null && txIndex !== null && rawTx !== null;
      return {
        ...toEvidence(row),
        robotName,
        mined: isMined ? { blockHash, txIndex, rawTx, chainProof: toChainProof(row) } : null,
      };
    },

    async eraseProof(id, wallet) {
      const task = await access.first<{ completed: boolean }>(erase, [id, wallet]);
      if (task === undefined) return 'not_found';
      return task.completed ? 'erased' : 'nothing_stored';
    },

    eraseOldProofs: async (before, limit) =>
      (await access.run(eraseOldest, [before, limit])) === limit,
  };
}

function toEvidence(row: EvidenceRow): EvidenceRecord {
  const { sealed, key } = row;
  const proof = sealed === null || key === null ? null : openProof(sealed, key);
  return { task: toWholeTask(row), proof };
}
