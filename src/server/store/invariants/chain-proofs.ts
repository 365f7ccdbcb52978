// Checks stored chain proofs against the blocks and transactions of their attempts, for both stores.

import type { Hex } from '../../../proof/bytes.ts';
import { isAnchor, provesPlace } from '../../rules/chain-proofs.ts';
import {
  RECORDED_ANCHOR_COLUMNS,
  type RecordedAnchorRow,
  toRecordedAnchor,
} from '../rows/chain-proofs.ts';

/** A stored chain proof with the recorded anchor. */
export interface StoredProofRow extends RecordedAnchorRow {
  header: Hex;
  nodes: string;
}

export const STORED_PROOFS = `SELECT ${RECORDED_ANCHOR_COLUMNS}, p.header, p.nodes
  FROM chain_proofs p
  JOIN attempts a ON a.id = p.attempt_id
  JOIN variants v ON v.tx_hash = a.mined_tx_hash
  WHERE p.header IS NOT NULL`;

/** The violation of a row; none if header and path lead to the recorded transaction, and that is the anchor. */
export function violationOfProof(row: StoredProofRow): string[] {
  const anchor = toRecordedAnchor(row);
  const proof = { header: row.header, nodes: nodesOf(row.nodes) };
  if (provesPlace(anchor, proof) && isAnchor(anchor)) return [];
  return [`the chain proof of attempt ${row.attempt_id} does not lead to its transaction`];
}

/** None if the column is damaged. */
function nodesOf(text: string): Hex[] {
  try {
    return JSON.parse(text);
  } catch {
    return [];
  }
}
