// What a bundle states about its anchor, and the checks of its evidence and transaction.
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { StatedAnchor } from './audit-anchor.ts';
import { type AuditCheck, check } from './audit-check.ts';
import type { Bundle } from './bundle.ts';
import { bytesToHex, hexToBytes } from './bytes.ts';
import { hashClaim, hashProof } from './hash.ts';

/**
 * The statements of a bundle about its anchor. The claim hash is computed from the claim.
 *
 * @throws TypeError if the claim contains anything but JSON values; claims of `readBundle` never do.
 */
export function statedAnchorOf(bundle: Bundle): Required<StatedAnchor> {
  const { chain_id, task, claim, proof_hash, inclusion, anchor } = bundle;
  const { tx_hash, block_number, block_hash, tx_index, from, anchored_at } = anchor;
  return {
    chain_id,
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: hashClaim(claim),
    statement_hash: null,
    inclusion,
    tx_hash,
    block_number,
    block_hash,
    tx_index,
    anchored_at,
    from,
  };
}

/** `evidence`; nothing if the bundle does not have the proof. */
export function auditEvidence({ proof, proof_hash }: Bundle): AuditCheck[] {
  if (proof === undefined) return [];
  return [
    check('evidence', hashProof(proof) === proof_hash, {
      holds: 'The evidence hashes to the proof hash',
      fails: 'The evidence hashes to another proof hash',
    }),
  ];
}

/** `raw_tx`. */
export function auditRawTransaction({ anchor }: Bundle): AuditCheck {
  // Keccak-256 of its bytes (Ethereum Yellow Paper, section 4.3; EIP-2718).
  const hash = bytesToHex(keccak_256(hexToBytes(anchor.raw_tx)));
  return check('raw_tx', hash === anchor.tx_hash, {
    holds: 'The signed transaction has the stated hash',
    fails: 'The signed transaction has another hash',
  });
}
