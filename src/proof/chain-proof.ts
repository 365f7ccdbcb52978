// Checks a bundle against the hash of its block alone, with the chain proof in it.
import { auditPayload, type StatedPlace } from './audit-anchor.ts';
import { type AuditCheck, check, sameHex } from './audit-check.ts';
import { type BlockHeader, readBlockHeader } from './block-header.ts';
import { type Anchored, auditEvidence, auditRawTransaction, statedOf } from './bundle-checks.ts';
import { bytesToHex, type Hex } from './bytes.ts';
import { readSignedTransaction, type SignedTransaction } from './signed-transaction.ts';
import { valueInTrie } from './trie.ts';

export type { ChainProof } from './subject/anchor-members.ts';

/**
 * Checks a bundle or free leaf with a chain proof against the hash of its block, in hex of any case, without I/O. Checks, in this
 * order: `header`, `block_hash`, `block_number`, `anchored_at`, `transaction_path`, `transaction_found`, `raw_tx`,
 * `signature`, `chain`, `sender`, `self_transfer`, the checks of the payload as in `auditAnchor`, and `evidence` if the
 * bundle has the proof. Whether the block is part of the chain depends on the source of the hash. Whether the
 * transaction succeeded is not checked: the commitment does not depend on it.
 *
 * Without a chain proof the checks of the block fail. Nothing is thrown for a bundle of `readBundle`.
 */
export function auditChainProof(bundle: Anchored, blockHash: string): AuditCheck[] {
  const stated = statedOf(bundle);
  const { chain_proof: chainProof, anchor } = bundle;
  const read = attempt(() => {
    if (chainProof === undefined) throw new TypeError('The bundle has no chain proof');
    return readBlockHeader(chainProof.header);
  });
  const header = read.found;
  const signed = attempt(() => readSignedTransaction(anchor.raw_tx));
  return [
    check('header', header !== null && sameHex(header.hash, blockHash), {
      holds: 'The block header hashes to the given block hash',
      fails:
        read.reason ||
        `The header of block ${header?.number} in the bundle hashes to ${header?.hash}, given is ${blockHash}`,
    }),
    ...auditBlock(stated, header, blockHash),
    ...auditPath(bundle, header),
    auditRawTransaction(bundle),
    check('signature', signed.found !== null, {
      holds: 'The signed transaction is well-formed and its signature is valid',
      fails: signed.reason,
    }),
    ...auditSigned(stated, signed.found),
    ...auditPayload(stated, signed.found?.input ?? null),
    ...auditEvidence(bundle),
  ];
}

/** The account that signed the transaction of a bundle; null if the transaction is malformed. */
export function signerOf({ anchor }: Anchored): Hex | null {
  return attempt(() => readSignedTransaction(anchor.raw_tx)).found?.from ?? null;
}

function auditBlock(stated: Required<StatedPlace>, header: BlockHeader | null, blockHash: string) {
  return [
    check('block_hash', sameHex(blockHash, stated.block_hash), {
      holds: 'The bundle states the hash of this block',
      fails: 'The bundle states another block hash',
    }),
    check('block_number', header?.number.toString() === stated.block_number, {
      holds: 'The block has the stated number',
      fails: 'The block has another number than stated',
    }),
    check('anchored_at', header?.timestamp === stated.anchored_at, {
      holds: 'The block has the stated time',
      fails: `The block has the time ${header?.timestamp}, stated is ${stated.anchored_at}`,
    }),
  ];
}

function auditPath({ chain_proof, anchor }: Anchored, header: BlockHeader | null): AuditCheck[] {
  const value =
    header === null
      ? null
      : valueInTrie(header.transactionsRoot, anchor.tx_index, chain_proof?.nodes ?? []);
  return [
    check('transaction_path', value !== null, {
      holds: 'The trie path leads from the block header to the stated place in the block',
      fails: 'The trie path does not lead from the block header to the stated place in the block',
    }),
    check('transaction_found', value !== null && bytesToHex(value) === anchor.raw_tx, {
      holds: 'The signed transaction is at this place',
      fails: 'The signed transaction is not at this place',
    }),
  ];
}

function auditSigned({ chain_id, from }: Required<StatedPlace>, signed: SignedTransaction | null) {
  const isSelfTransfer = signed !== null && signed.to === signed.from && signed.value === 0n;
  return [
    check('chain', signed?.chainId === BigInt(chain_id), {
      holds: 'The transaction is signed for the stated chain',
      fails: 'The transaction is not signed for the stated chain',
    }),
    check('sender', signed !== null && sameHex(signed.from, from), {
      holds: 'The stated account signed the transaction',
      fails: 'The stated account did not sign the transaction',
    }),
    check('self_transfer', isSelfTransfer, {
      holds: 'Sender and recipient are one account, and the value is 0',
      fails: 'The transaction is not an empty transfer from an account to itself',
    }),
  ];
}

/** What `decode` returns; null and the reason if it throws. */
function attempt<T>(decode: () => T): { readonly found: T | null; readonly reason: string } {
  try {
    return { found: decode(), reason: '' };
  } catch (error) {
    return { found: null, reason: error instanceof Error ? error.message : String(error) };
  }
}
