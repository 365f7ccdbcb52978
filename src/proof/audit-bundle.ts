import { keccak_256 } from '@noble/hashes/sha3.js';
import {
  type AuditCheck,
  auditAnchor,
  type ChainFacts,
  check,
  type StatedAnchor,
} from './audit-anchor.ts';
import type { Bundle } from './bundle.ts';
import { bytesToHex, hexToBytes } from './bytes.ts';
import { hashClaim, hashProof } from './hash.ts';

/** What a bundle states about its anchor; the claim's hash is computed from the claim. */
export function statedAnchorOf(bundle: Bundle): Required<StatedAnchor> {
  const { chain_id, task, claim, proof_hash, inclusion, anchor } = bundle;
  const { tx_hash, block_number, block_hash, tx_index, from, anchored_at } = anchor;
  return {
    chain_id,
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: hashClaim(claim),
    inclusion,
    tx_hash,
    block_number,
    block_hash,
    tx_index,
    anchored_at,
    from,
  };
}

/**
 * Holds a bundle against the chain: `evidence` where it carries the proof, `raw_tx`, then every check of
 * `auditAnchor`. A changed claim, task or robot id fails in `leaf`, in a batch in `inclusion_path`. The
 * robot's name is in none: it is stated, not proven.
 */
export function auditBundle(bundle: Bundle, facts: ChainFacts): AuditCheck[] {
  const { proof, proof_hash, anchor } = bundle;
  const evidence =
    proof === undefined
      ? []
      : [
          check('evidence', hashProof(proof) === proof_hash, {
            holds: 'The evidence hashes to the proof hash',
            fails: 'The evidence hashes to another proof hash',
          }),
        ];
  return [
    ...evidence,
    check('raw_tx', hashTransaction(anchor.raw_tx) === anchor.tx_hash, {
      holds: 'The signed transaction has the stated hash',
      fails: 'The signed transaction has another hash',
    }),
    ...auditAnchor(statedAnchorOf(bundle), facts),
  ];
}

/** Hash of a signed transaction: Keccak-256 of its bytes (Ethereum Yellow Paper, section 4.3; EIP-2718). */
function hashTransaction(rawTx: string): string {
  return bytesToHex(keccak_256(hexToBytes(rawTx)));
}
