// What a bundle states about its anchor, and the checks of its evidence and transaction.
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { StatedAnchor, StatedLeaf } from './audit-anchor.ts';
import { type AuditCheck, check } from './audit-check.ts';
import type { Bundle } from './bundle.ts';
import { bytesToHex, hexToBytes } from './bytes.ts';
import { hashClaim, hashProof } from './hash.ts';
import { hashText } from './statements/jws.ts';
import type { AnchoredLeaf, AnchorMembers } from './subject/anchor-members.ts';

/** A document with an anchor: a bundle, or a leaf. */
export type Anchored = Bundle | AnchoredLeaf;

/**
 * The statements of a bundle about its anchor. The claim hash is computed from the claim.
 *
 * @throws TypeError if the claim contains anything but JSON values; claims of `readBundle` never do.
 */
export function statedAnchorOf(bundle: Bundle): Required<StatedAnchor> {
  const { chain_id, task, claim, proof_hash, inclusion, anchor, signing } = bundle;
  return {
    chain_id,
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: hashClaim(claim),
    statement_hash: signing === undefined ? null : hashText(signing.result.statement),
    inclusion,
    ...placeOf(anchor),
  };
}

/** As `statedAnchorOf`, also for a leaf. */
export function statedOf(document: Anchored): Required<StatedAnchor> | Required<StatedLeaf> {
  if (!('leaf' in document)) return statedAnchorOf(document);
  const { chain_id, leaf, inclusion, anchor } = document;
  return { chain_id, leaf, inclusion, ...placeOf(anchor) };
}

function placeOf({ raw_tx: _, ...place }: AnchorMembers): Omit<AnchorMembers, 'raw_tx'> {
  return place;
}

/** `evidence`; nothing if the bundle does not have the proof. */
export function auditEvidence(document: Anchored): AuditCheck[] {
  if (!('proof' in document) || document.proof === undefined) return [];
  const { proof, proof_hash } = document;
  return [
    check('evidence', hashProof(proof) === proof_hash, {
      holds: 'The evidence hashes to the proof hash',
      fails: 'The evidence hashes to another proof hash',
    }),
  ];
}

/** `raw_tx`. */
export function auditRawTransaction({ anchor }: Anchored): AuditCheck {
  // Keccak-256 of its bytes (Ethereum Yellow Paper, section 4.3; EIP-2718).
  const hash = bytesToHex(keccak_256(hexToBytes(anchor.raw_tx)));
  return check('raw_tx', hash === anchor.tx_hash, {
    holds: 'The signed transaction has the stated hash',
    fails: 'The signed transaction has another hash',
  });
}
