// Stores evidence: reads it, assembles bundles, and erases it.

import type { EvidenceStore } from '../../ports/evidence.ts';
import { recordAudit } from '../audit-log.ts';
import {
  type BundleRow,
  type EvidenceRow,
  evidenceQueries,
  toBundle,
  toEvidence,
} from '../rows/evidence.ts';
import { viewerValues } from '../rows/tasks.ts';
import { sql } from './engine/sql.ts';
import { runSteps } from './engine/steps.ts';
import { freed, freeing, rowsOf, subtracting } from './engine/storage-usage.ts';
import type { Access } from './engine/transactions.ts';

const queries = evidenceQueries('LEFT JOIN proofs p ON p.task_id = t.id');
const findEvidence = sql(queries.evidence);
const findBundle = sql(queries.bundle);
const erase = sql(`WITH erased AS (
    DELETE FROM proofs WHERE task_id IN (SELECT id FROM tasks WHERE id = $1 AND wallet = $2)
    RETURNING task_id, ${freed.proofs}
  ), counted AS (${subtracting('erased')})
  SELECT EXISTS (SELECT FROM completions c WHERE c.task_id = t.id) AS completed,
    EXISTS (SELECT FROM erased) AS erased
  FROM tasks t WHERE t.id = $1 AND t.wallet = $2`);
// An array, because a plan may run a subquery more than once, and delete more than the limit.
const eraseOldest = freeing(
  'proofs',
  `DELETE FROM proofs WHERE task_id = ANY(ARRAY(
     SELECT task_id FROM proofs WHERE stored_at < $1 ORDER BY stored_at LIMIT $2
     FOR UPDATE SKIP LOCKED))`,
);

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
      const row = await access.first<BundleRow>(findBundle, [id, ...viewerValues(viewer)]);
      return row === undefined ? null : toBundle(row);
    },

    eraseProof: (id, wallet, by) =>
      access.write(async (tx) => {
        type Found = { completed: boolean; erased: boolean };
        const task = await tx.first<Found>(erase, [id, wallet]);
        if (task === undefined) return 'not_found';
        if (task.erased)
          await runSteps(tx, recordAudit(wallet, 'evidence_erased', by, { target_id: id }));
        return task.completed ? 'erased' : 'nothing_stored';
      }),

    eraseOldProofs: async (before, limit) =>
      (await rowsOf(access, eraseOldest, [before, limit])) === limit,
  };
}
