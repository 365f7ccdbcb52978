// The store's contract for chain proofs: the final anchors that lack one, and what was built for them.
import type { BackoffRange } from '../../base/backoff.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { ChainProof } from '../../proof/chain-proof.ts';
import type { MinedVariant } from './anchoring.ts';

/** A final anchor without a chain proof, and where it was mined. */
export interface UnprovenAnchor
  extends Pick<MinedVariant, 'txHash' | 'blockNumber' | 'blockHash' | 'txIndex'> {
  attemptId: string;
  chainId: number;
  /** Checksummed. */
  sender: string;
  /** Calldata. */
  payload: Hex;
  rawTx: Hex;
  /** How often it was taken, with this time. */
  tries: number;
}

/**
 * An anchor is due for a chain proof from the commit that makes it final until one is stored. A reorganization removes
 * both.
 */
export interface ChainProofStore {
  /**
   * Takes up to `limit` anchors that are due, those that have waited longest first. Each take puts off the next one of
   * that anchor, as `retry` says without its random part. So a crash or a failure needs no further write, and another
   * instance does not build the same proof meanwhile. Writes nothing if none is due.
   */
  takeUnproven(limit: number, retry: BackoffRange, now: number): Promise<UnprovenAnchor[]>;
  /**
   * Stores the chain proof of an anchor. Returns false, and writes nothing, unless the anchor is still due and final in the same block.
   */
  recordChainProof(
    anchor: Pick<UnprovenAnchor, 'attemptId' | 'txHash' | 'blockHash'>,
    proof: ChainProof,
  ): Promise<boolean>;
  /** Number of final anchors without a stored chain proof; at most 100 000. */
  countMissingChainProofs(): Promise<number>;
}
