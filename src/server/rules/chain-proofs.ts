// Decides whether a chain proof proves an anchor: block header, place in the block, and signature.
import { readBlockHeader } from '../../proof/block-header.ts';
import { bytesToHex, type Hex } from '../../proof/bytes.ts';
import type { ChainProof } from '../../proof/chain-proof.ts';
import {
  readSignedTransaction,
  readTransaction,
  type SignedTransaction,
} from '../../proof/signed-transaction.ts';
import { valueInTrie } from '../../proof/trie.ts';
import type { UnprovenAnchor } from '../ports/chain-proofs.ts';

type Place = Pick<UnprovenAnchor, 'rawTx' | 'blockNumber' | 'blockHash' | 'txIndex'>;

/** Whether the header is that of the recorded block, and its trie holds the recorded bytes at the recorded index. */
export function provesPlace(place: Place, { header: encoded, nodes }: ChainProof): boolean {
  try {
    const header = readBlockHeader(encoded);
    if (header.hash !== place.blockHash || header.number !== place.blockNumber) return false;
    const value = valueInTrie(header.transactionsRoot, place.txIndex, nodes);
    return value !== null && bytesToHex(value) === place.rawTx;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

type RecordedAnchor = Omit<UnprovenAnchor, 'attemptId' | 'tries'>;

/** Whether the recorded bytes are the anchor: its hash, chain, calldata, and an empty transfer to the sender. */
export function isAnchor(anchor: RecordedAnchor): boolean {
  return matches(anchor, readTransaction);
}

/** As `isAnchor`, and the sender signed them. */
export function isSignedAnchor(anchor: RecordedAnchor): boolean {
  return matches(anchor, readSignedTransaction);
}

function matches(
  anchor: RecordedAnchor,
  read: (raw: Hex) => Omit<SignedTransaction, 'from'> & Partial<Pick<SignedTransaction, 'from'>>,
): boolean {
  const sender = anchor.sender.toLowerCase();
  try {
    const { hash, chainId, from = sender, to, value, input } = read(anchor.rawTx);
    return (
      hash === anchor.txHash &&
      chainId === BigInt(anchor.chainId) &&
      from === sender &&
      to === sender &&
      value === 0n &&
      input === anchor.payload
    );
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}
