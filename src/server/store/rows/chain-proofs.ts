// Converts rows of chain proofs and of the anchors that lack one.

import type { Hex } from '../../../proof/bytes.ts';
import type { ChainProof } from '../../../proof/chain-proof.ts';
import type { UnprovenAnchor } from '../../ports/chain-proofs.ts';

/** More missing chain proofs are not counted, so that a read of the metrics stays short where none is built. */
export const MOST_COUNTED = 100_000;

export type RecordedAnchorRow = Omit<UnprovenAnchor, 'blockNumber'> & { blockNumber: number };

/** The columns of a `RecordedAnchorRow`, from the chain proof `p`, its attempt `a` and its mined variant `v`. */
export const RECORDED_ANCHOR_COLUMNS = `p.attempt_id AS "attemptId", a.chain_id AS "chainId", a.sender,
  a.payload, a.mined_tx_hash AS "txHash", v.raw_tx AS "rawTx", a.mined_block_number AS "blockNumber",
  a.mined_block_hash AS "blockHash", a.mined_tx_index AS "txIndex", p.tries`;

export function toRecordedAnchor(row: RecordedAnchorRow): UnprovenAnchor {
  return { ...row, blockNumber: BigInt(row.blockNumber) };
}

/** Null if no chain proof is stored. `nodes` is a JSON array. */
export interface ChainProofRow {
  header: Hex | null;
  nodes: string | null;
}

export function toChainProof({ header, nodes }: ChainProofRow): ChainProof | null {
  return header === null || nodes === null ? null : { header, nodes: JSON.parse(nodes) };
}
