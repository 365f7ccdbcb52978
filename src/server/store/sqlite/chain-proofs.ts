// Stores chain proofs: the final anchors that are due for one, and what was built for them.

import type { Database } from 'better-sqlite3';
import type { ChainProofStore } from '../../ports/chain-proofs.ts';
import {
  MOST_COUNTED,
  RECORDED_ANCHOR_COLUMNS,
  type RecordedAnchorRow,
  toRecordedAnchor,
} from '../rows/chain-proofs.ts';
import type { Access } from './engine/connections.ts';

/** `header IS NULL` is the condition of the index `chain_proofs_missing`. A row with `due_at` has no header. */
const IS_DUE = 'header IS NULL AND due_at <= :now';

export function chainProofStore({ reader, writer, write, read }: Access): ChainProofStore {
  const due = reader.prepare<[{ now: number }]>(`SELECT 1 FROM chain_proofs WHERE ${IS_DUE}`);
  const oldest = writer
    .prepare<[{ now: number; limit: number }], string>(
      `SELECT attempt_id FROM chain_proofs WHERE ${IS_DUE} ORDER BY due_at LIMIT :limit`,
    )
    .pluck();
  const unproven = writer.prepare<[string], RecordedAnchorRow>(
    `SELECT ${RECORDED_ANCHOR_COLUMNS} FROM chain_proofs p
     JOIN attempts a ON a.id = p.attempt_id
     JOIN variants v ON v.tx_hash = a.mined_tx_hash
     WHERE p.attempt_id = ?`,
  );
  const putOff = writer.prepare<[Record<string, string | number>]>(
    `UPDATE chain_proofs SET tries = tries + 1,
       due_at = :now + min(:maxMs, :firstMs * (1 << min(tries, 30)))
     WHERE attempt_id = :attemptId`,
  );
  const record = writer.prepare<[Record<string, string>]>(
    `UPDATE chain_proofs SET header = :header, nodes = :nodes, due_at = NULL
     WHERE attempt_id = :attemptId AND due_at IS NOT NULL AND EXISTS (SELECT 1 FROM attempts a
       WHERE a.id = attempt_id AND a.state = 'finalized'
         AND a.mined_tx_hash = :txHash AND a.mined_block_hash = :blockHash)`,
  );
  const missing = reader.prepare<[], { total: number }>(
    `SELECT count(*) AS total FROM
       (SELECT 1 FROM chain_proofs WHERE header IS NULL LIMIT ${MOST_COUNTED}) missing`,
  );

  return {
    async takeUnproven(limit, retry, now) {
      if ((await read(() => due.get({ now }))) === undefined) return [];
      return write(() => {
        const ids = oldest.all({ now, limit });
        for (const attemptId of ids) putOff.run({ ...retry, attemptId, now });
        return ids.flatMap((id) => unproven.all(id)).map(toRecordedAnchor);
      });
    },

    recordChainProof: ({ attemptId, txHash, blockHash }, proof) =>
      write(() => {
        const { header } = proof;
        const nodes = JSON.stringify(proof.nodes);
        return record.run({ attemptId, txHash, blockHash, header, nodes }).changes > 0;
      }),

    countMissingChainProofs: () => read(() => missing.get()?.total ?? 0),
  };
}

/** Makes attempts due for a chain proof, or no longer so. Call it inside a write that changes their finality. */
export function chainProofsDue(writer: Database): {
  expect(attemptId: string, now: number): void;
  drop(attemptId: string): void;
} {
  const add = writer.prepare<[string, number]>(
    'INSERT INTO chain_proofs (attempt_id, due_at) VALUES (?, ?)',
  );
  const remove = writer.prepare<[string]>('DELETE FROM chain_proofs WHERE attempt_id = ?');
  return {
    expect: (attemptId, now) => add.run(attemptId, now),
    drop: (attemptId) => remove.run(attemptId),
  };
}
