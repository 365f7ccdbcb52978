// Checks stored chain proofs against the blocks and transactions of their attempts, for both stores.

import type { Hex } from '../../../proof/bytes.ts';
import { isAnchor, provesPlace } from '../../rules/chain-proofs.ts';

/** A stored chain proof with the recorded place of its attempt. */
export interface StoredProofRow {
  attempt_id: string;
  chain_id: number;
  sender: string;
  payload: Hex;
  mined_tx_hash: Hex;
  header: Hex;
  nodes: string;
  raw_tx: Hex;
  mined_block_number: number;
  mined_block_hash: Hex;
  mined_tx_index: number;
}

export const STORED_PROOFS = `SELECT p.attempt_id, a.chain_id, a.sender, a.payload, a.mined_tx_hash, p.header, p.nodes, v.raw_tx, a.mined_block_number,
    a.mined_block_hash, a.mined_tx_index
  FROM chain_proofs p
  JOIN attempts a ON a.id = p.attempt_id
  JOIN variants v ON v.tx_hash = a.mined_tx_hash
  WHERE p.header IS NOT NULL`;

/** The violation of a row; none if header and path lead to the recorded transaction, and that is the anchor. */
export function violationOfProof(row: StoredProofRow): string[] {
  const place = {
    chainId: row.chain_id,
    sender: row.sender,
    payload: row.payload,
    txHash: row.mined_tx_hash,
    rawTx: row.raw_tx,
    blockNumber: BigInt(row.mined_block_number),
    blockHash: row.mined_block_hash,
    txIndex: row.mined_tx_index,
  };
  const proof = { header: row.header, nodes: nodesOf(row.nodes) };
  if (provesPlace(place, proof) && isAnchor(place)) return [];
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
