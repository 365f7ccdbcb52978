// Converts rows of chain proofs and of the anchors that lack one.

import type { Hex } from '../../../proof/bytes.ts';
import type { ChainProof } from '../../../proof/chain-proof.ts';
import type { UnprovenAnchor } from '../../ports/chain-proofs.ts';

/** More missing chain proofs are not counted, so that a read of the metrics stays short where none is built. */
export const MOST_COUNTED = 100_000;

export interface RecordedAnchorRow {
  attempt_id: string;
  chain_id: number;
  sender: string;
  payload: Hex;
  mined_tx_hash: Hex;
  raw_tx: Hex;
  mined_block_number: number;
  mined_block_hash: Hex;
  mined_tx_index: number;
  tries: number;
}

/** The columns of a `RecordedAnchorRow`, from the chain proof `p`, its attempt `a` and its mined variant `v`. */
export const RECORDED_ANCHOR_COLUMNS = `p.attempt_id, a.chain_id, a.sender, a.payload, a.mined_tx_hash,
  v.raw_tx, a.mined_block_number, a.mined_block_hash, a.mined_tx_index, p.tries`;

export function toRecordedAnchor(row: RecordedAnchorRow): UnprovenAnchor {
  return {
    attemptId: row.attempt_id,
    chainId: row.chain_id,
    sender: row.sender,
    payload: row.payload,
    txHash: row.mined_tx_hash,
    rawTx: row.raw_tx,
    blockNumber: BigInt(row.mined_block_number),
    blockHash: row.mined_block_hash,
    txIndex: row.mined_tx_index,
    tries: row.tries,
  };
}

/** Null if no chain proof is stored. `nodes` is a JSON array. */
export interface ChainProofRow {
  header: Hex | null;
  nodes: string | null;
}

export function toChainProof({ header, nodes }: ChainProofRow): ChainProof | null {
  return header === null || nodes === null ? null : { header, nodes: JSON.parse(nodes) };
}
