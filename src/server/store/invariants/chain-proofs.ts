// Checks stored chain proofs against the blocks and transactions of their attempts.

import type { Hex } from '../../../proof/bytes.ts';
import { isAnchor, provesPlace } from '../../rules/chain-proofs.ts';
import {
  RECORDED_ANCHOR_COLUMNS,
  type RecordedAnchorRow,
  toRecordedAnchor,
} from '../rows/chain-proofs.ts';
import type { Snapshot } from './snapshot.ts';

/** A stored chain proof with the recorded anchor. */
interface StoredProofRow extends RecordedAnchorRow {
  header: Hex;
  nodes: string;
}

/** Header and path lead to the recorded transaction, and that is the anchor. */
export async function* chainProofsLead({ scan }: Snapshot): AsyncGenerator<string> {
  const stored = scan<StoredProofRow>(
    `SELECT ${RECORDED_ANCHOR_COLUMNS}, p.header, p.nodes
     FROM chain_proofs p
     JOIN attempts a ON a.id = p.attempt_id
     JOIN variants v ON v.tx_hash = a.mined_tx_hash
     WHERE p.header IS NOT NULL`,
  );
  for await (const row of stored) {
    const anchor = toRecordedAnchor(row);
    const proof = { header: row.header, nodes: nodesOf(row.nodes) };
    if (provesPlace(anchor, proof) && isAnchor(anchor)) continue;
    yield `the chain proof of attempt ${row.attemptId} does not lead to its transaction`;
  }
}

/** None if the column is damaged. */
function nodesOf(text: string): Hex[] {
  try {
    return JSON.parse(text);
  } catch {
    return [];
  }
}
