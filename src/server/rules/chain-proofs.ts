// Decides whether a chain proof proves an anchor: block header, place in the block, and signature.
import { readBlockHeader } from '../../proof/block-header.ts';
import { bytesToHex } from '../../proof/bytes.ts';
import type { ChainProof } from '../../proof/chain-proof.ts';
import { readSignedTransaction } from '../../proof/signed-transaction.ts';
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

/** Whether the recorded bytes are the anchor: its hash, chain, calldata, and an empty transfer from sender to sender. */
export function isSignedAnchor(anchor: UnprovenAnchor): boolean {
  try {
    const { hash, chainId, from, to, value, input } = readSignedTransaction(anchor.rawTx);
    const sender = anchor.sender.toLowerCase();
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
