// Stores chain proofs: the final anchors that are due for one, and what was built for them.

import type { ChainProofStore, UnprovenAnchor } from '../../ports/anchoring.ts';
import { first, insert, rows, type StepRunner, type Steps, some } from '../engine/steps.ts';
import {
  MOST_COUNTED,
  RECORDED_ANCHOR_COLUMNS,
  type RecordedAnchorRow,
  toRecordedAnchor,
} from '../rows/anchoring.ts';

/** `header IS NULL` is the condition of the index `chain_proofs_missing`. A row with `due_at` has no header. */
const IS_DUE = 'header IS NULL AND due_at <= $1';
/** A time that is further ahead than the longest pause is of a clock that was wrong. */
const IS_TOO_LATE = 'header IS NULL AND due_at > $2';

export const chainProofSql = {
  anyDue: `SELECT attempt_id FROM chain_proofs WHERE (${IS_DUE}) OR (${IS_TOO_LATE}) LIMIT 1`,
  bringForward: `UPDATE chain_proofs SET due_at = $1 WHERE ${IS_TOO_LATE}`,
  // SKIP LOCKED: two instances that ask at the same moment take different anchors.
  oldest: `SELECT attempt_id, tries FROM chain_proofs WHERE ${IS_DUE} ORDER BY due_at LIMIT $2
    FOR UPDATE SKIP LOCKED`,
  putOff: 'UPDATE chain_proofs SET tries = tries + 1, due_at = $2 WHERE attempt_id = $1',
  unproven: `SELECT ${RECORDED_ANCHOR_COLUMNS} FROM chain_proofs p JOIN attempts a ON a.id = p.attempt_id
    JOIN variants v ON v.tx_hash = a.mined_tx_hash WHERE p.attempt_id = $1`,
  // A reorganization deletes the row. It waits for this statement, or this statement finds no row.
  record: `UPDATE chain_proofs SET header = $4, nodes = $5, due_at = NULL
    WHERE attempt_id = $1 AND due_at IS NOT NULL AND EXISTS (SELECT 1 FROM attempts a
      WHERE a.id = attempt_id AND a.state = 'finalized'
        AND a.mined_tx_hash = $2 AND a.mined_block_hash = $3)
    RETURNING attempt_id`,
  countMissing: `SELECT count(*) AS total FROM
    (SELECT 1 FROM chain_proofs WHERE header IS NULL LIMIT ${MOST_COUNTED}) AS missing`,
  remove: 'DELETE FROM chain_proofs WHERE attempt_id = $1',
} as const;

export function chainProofStore({ read, write }: StepRunner): ChainProofStore {
  return {
    async takeUnproven(limit, { firstMs, maxMs }, now) {
      if (!(await read(() => some(chainProofSql.anyDue, now, now + maxMs)))) return [];
      return write(function* () {
        yield* rows(chainProofSql.bringForward, now, now + maxMs);
        type Due = { attempt_id: string; tries: number };
        const taken: UnprovenAnchor[] = [];
        for (const { attempt_id: id, tries } of yield* rows<Due>(
          chainProofSql.oldest,
          now,
          limit,
        )) {
          const pauseMs = Math.min(maxMs, firstMs * 2 ** tries);
          yield* rows(chainProofSql.putOff, id, now + pauseMs);
          const anchor = yield* first<RecordedAnchorRow>(chainProofSql.unproven, id);
          if (anchor) taken.push(toRecordedAnchor(anchor));
        }
        return taken;
      });
    },

    recordChainProof: ({ attemptId, txHash, blockHash }, { header, nodes }) => {
      const values = [attemptId, txHash, blockHash, header, JSON.stringify(nodes)];
      return write(() => some(chainProofSql.record, ...values));
    },

    async countMissingChainProofs() {
      const row = await read(() => first<{ total: number }>(chainProofSql.countMissing));
      return row?.total ?? 0;
    },
  };
}

/** Makes attempts due for a chain proof. Call it inside the write that makes them final. */
export function* expectChainProofs(attemptIds: readonly string[], now: number): Steps<void> {
  yield* insert(
    'chain_proofs',
    attemptIds.map((id) => ({ attempt_id: id, due_at: now })),
  );
}

/** Call it inside the write that records the attempts as reorganized. */
export function* dropChainProofs(attemptIds: readonly string[]): Steps<void> {
  for (const id of attemptIds) yield* rows(chainProofSql.remove, id);
}
