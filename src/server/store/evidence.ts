// Stores evidence: reads it, assembles bundles, and erases it.

import type { EvidenceStore } from '../ports/evidence.ts';
import { recordAudit } from './audit-log.ts';
import { deleteInCommit, first, firstAs, type StepRunner, selected } from './engine/steps.ts';
import { FIND_BUNDLE, FIND_EVIDENCE, toBundle, toEvidence } from './rows/evidence.ts';
import { viewerValues } from './rows/tasks.ts';
import { freed, freeing } from './storage-usage.ts';

export const evidenceSql = {
  evidence: FIND_EVIDENCE,
  bundle: FIND_BUNDLE,
  ofAccount: `SELECT EXISTS (SELECT 1 FROM completions c WHERE c.task_id = t.id) AS completed
    FROM tasks t WHERE t.id = $1 AND t.wallet = $2`,
  erase: `DELETE FROM proofs WHERE task_id = $1 RETURNING ${freed.proofs}`,
  eraseOldest: `DELETE FROM proofs WHERE task_id ${selected(`
    SELECT task_id FROM proofs WHERE stored_at < $1 ORDER BY stored_at LIMIT $2
    FOR UPDATE SKIP LOCKED`)} RETURNING ${freed.proofs}`,
} as const;

/**
 * No query finds erased evidence once the promise resolves, and no copy remains in the files of SQLite. Outside of
 * queries, PostgreSQL keeps the key and the sealed evidence for a while:
 * - in the table's files, until a vacuum frees the rows (autovacuum runs once 50 rows and 2 % of the table are erased)
 *   and new rows overwrite them, which only `VACUUM FULL proofs` forces;
 * - in the write-ahead log, until its files are recycled;
 * - in replicas, archives and earlier backups, as long as those are kept.
 */
export function evidenceStore(runner: StepRunner): EvidenceStore {
  const { read, write, purgeLog, joinLogPurge } = runner;
  return {
    getEvidence: (id, viewer) =>
      read(() => firstAs(toEvidence, evidenceSql.evidence, id, ...viewerValues(viewer))),

    getBundle: (id, viewer) =>
      read(() => firstAs(toBundle, evidenceSql.bundle, id, ...viewerValues(viewer))),

    async eraseProof(id, wallet, by) {
      const outcome = await write(function* () {
        type Task = { completed: boolean | 0 | 1 };
        const task = yield* first<Task>(evidenceSql.ofAccount, id, wallet);
        if (task === undefined) return 'not_found';
        if (!task.completed) return 'nothing_stored';
        const erased = yield* freeing(runner, evidenceSql.erase, id);
        if (erased === 0) return 'erased_before';
        yield* recordAudit(wallet, 'evidence_erased', by, { target_id: id });
        return 'erased';
      });
      if (outcome === 'erased') await purgeLog();
      if (outcome !== 'erased_before') return outcome;
      await joinLogPurge();
      return 'erased';
    },

    async eraseOldProofs(before, limit) {
      const { done, more } = await write(() =>
        deleteInCommit(runner.deletions, limit, (most) =>
          freeing(runner, evidenceSql.eraseOldest, before, most),
        ),
      );
      // Not awaited: one purge serves many steps.
      if (done > 0) void purgeLog();
      return more;
    },
  };
}
