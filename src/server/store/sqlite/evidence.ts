// Stores evidence: reads it, assembles bundles, and erases it from the file and its log.

import type { Hex } from '../../../proof/bytes.ts';
import type { EvidenceRecord, EvidenceStore } from '../../ports/evidence.ts';
import type { Viewer } from '../../ports/tasks.ts';
import { type ChainProofRow, toChainProof } from '../rows/chain-proofs.ts';
import { openProof } from '../rows/evidence.ts';
import type { Access } from './engine/connections.ts';
import { repeatInCommit } from './engine/group-commit.ts';
import { isVisibleTo, taskReader } from './tasks.ts';

interface MinedRow extends ChainProofRow {
  mined_block_hash: Hex;
  mined_tx_index: number;
  raw_tx: Hex;
}

export function evidenceStore({
  reader,
  writer,
  write,
  purgeLog,
  joinLogPurge,
  read,
}: Access): EvidenceStore {
  const readTask = taskReader(reader);
  const readProof = reader.prepare<[string], { sealed: Buffer; key: Buffer }>(
    'SELECT p.sealed, k.key FROM proofs p JOIN proof_keys k ON k.id = p.key_id WHERE p.task_id = ?',
  );
  const robotName = reader.prepare<[string], { name: string }>(
    'SELECT name FROM robots WHERE id = ?',
  );
  const mined = reader.prepare<[string], MinedRow>(
    `SELECT a.mined_block_hash, a.mined_tx_index, v.raw_tx, p.header, p.nodes FROM receipts r
     JOIN attempts a ON a.id = r.attempt_id
     JOIN variants v ON v.tx_hash = a.mined_tx_hash
     LEFT JOIN chain_proofs p ON p.attempt_id = a.id
     WHERE r.task_id = ?`,
  );
  const ofAccount = writer.prepare<[string, string], { completed: 0 | 1 }>(
    `SELECT EXISTS (SELECT 1 FROM completions c WHERE c.task_id = t.id) AS completed
     FROM tasks t WHERE t.id = ? AND t.wallet = ?`,
  );
  const erase = writer.prepare<[string]>('DELETE FROM proofs WHERE task_id = ?');
  const eraseOldest = writer.prepare<[number]>(
    `DELETE FROM proofs WHERE key_id IN
       (SELECT key_id FROM proofs WHERE stored_at < ? ORDER BY stored_at LIMIT 1)`,
  );

  function evidenceOf(id: string, viewer: Viewer): EvidenceRecord | null {
    const task = readTask(id);
    if (task === null || !isVisibleTo(task, viewer)) return null;
    const stored = readProof.get(id);
    return { task, proof: stored === undefined ? null : openProof(stored.sealed, stored.key) };
  }

  return {
    getEvidence: (id, viewer) => read(() => evidenceOf(id, viewer)),

    getBundle: (id, viewer) =>
      read(() => {
        const evidence = evidenceOf(id, viewer);
        if (evidence === null) return null;
        const robot = robotName.get(evidence.task.robotId);
        if (robot === undefined) return null;
        const row = mined.get(id);
        return {
          ...evidence,
          robotName: robot.name,
          mined:
            row === undefined
              ? null
              : {
                  blockHash: row.mined_block_hash,
                  txIndex: row.mined_tx_index,
                  rawTx: row.raw_tx,
                  chainProof: toChainProof(row),
                },
        };
      }),

    async eraseProof(id, wallet) {
      const outcome = await write(() => {
        const task = ofAccount.get(id, wallet);
        if (task === undefined) return 'not_found';
        if (task.completed === 0) return 'nothing_stored';
        return erase.run(id).changes === 0 ? 'erased_before' : 'erased';
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
