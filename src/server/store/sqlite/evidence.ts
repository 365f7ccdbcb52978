// Stores evidence: reads it, assembles bundles, and erases it from the file and its log.

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
import { type Access, numbered } from './engine/connections.ts';
import { repeatInCommit } from './engine/group-commit.ts';
import { runOn } from './engine/steps.ts';

export function evidenceStore({
  reader,
  writer,
  write,
  purgeLog,
  joinLogPurge,
  read,
}: Access): EvidenceStore {
  const queries = evidenceQueries(
    'LEFT JOIN proofs p ON p.task_id = t.id LEFT JOIN proof_keys k ON k.id = p.key_id',
  );
  const evidence = reader.prepare<object, EvidenceRow>(queries.evidence);
  const bundle = reader.prepare<object, BundleRow>(queries.bundle);
  const ofAccount = writer.prepare<[string, string], { completed: 0 | 1 }>(
    `SELECT EXISTS (SELECT 1 FROM completions c WHERE c.task_id = t.id) AS completed
     FROM tasks t WHERE t.id = ? AND t.wallet = ?`,
  );
  const run = runOn(writer);
  const erase = writer.prepare<[string]>('DELETE FROM proofs WHERE task_id = ?');
  const eraseOldest = writer.prepare<[number]>(
    `DELETE FROM proofs WHERE key_id IN
       (SELECT key_id FROM proofs WHERE stored_at < ? ORDER BY stored_at LIMIT 1)`,
  );

  return {
    getEvidence: (id, viewer) =>
      read(() => {
        const row = evidence.get(numbered(id, ...viewerValues(viewer)));
        return row === undefined ? null : toEvidence(row);
      }),

    getBundle: (id, viewer) =>
      read(() => {
        const row = bundle.get(numbered(id, ...viewerValues(viewer)));
        return row === undefined ? null : toBundle(row);
      }),

    async eraseProof(id, wallet, by) {
      const outcome = await write(() => {
        const task = ofAccount.get(id, wallet);
        if (task === undefined) return 'not_found';
        if (task.completed === 0) return 'nothing_stored';
        if (erase.run(id).changes === 0) return 'erased_before';
        run(recordAudit(wallet, 'evidence_erased', by, { target_id: id }));
        return 'erased';
      });
      if (outcome === 'erased') await purgeLog();
      if (outcome !== 'erased_before') return outcome;
      await joinLogPurge();
      return 'erased';
    },

    async eraseOldProofs(before, limit) {
      const { done, more } = await write(() =>
        repeatInCommit(limit, () => eraseOldest.run(before).changes > 0),
      );
      // Not awaited: one purge serves many steps.
      if (done > 0) void purgeLog();
      return more;
    },
  };
}
