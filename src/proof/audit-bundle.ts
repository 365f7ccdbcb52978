// Checks a bundle, alone or against the chain.
import { keccak_256 } from '@noble/hashes/sha3.js';
import { auditAnchor, type ChainFacts, type StatedAnchor } from './audit-anchor.ts';
import { type AuditCheck, check } from './audit-check.ts';
import type { Bundle } from './bundle.ts';
import { bytesToHex, type Hex, hexToBytes } from './bytes.ts';
import { hashClaim, hashProof } from './hash.ts';
import { leafHash } from './leaf.ts';
import { encodePayload } from './payload.ts';
import { type Inclusion, MAX_LEAF_COUNT, rootFromPath } from './tree.ts';

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
 * Compares a bundle with the data of the chain: `evidence` if it has the proof, `raw_tx`, then every check of
 * `auditAnchor`. A changed claim, task id or robot id fails `leaf`, or in a batch `inclusion_path`. No check covers the
 * name of the robot: it is stated, not proven. `auditChainProof` checks the chain proof.
 *
 * @throws TypeError if claim or evidence contains anything but JSON values; those of `readBundle` never do.
 */
export function auditBundle(bundle: Bundle, facts: ChainFacts): AuditCheck[] {
  return [...auditFile(bundle), ...auditAnchor(statedAnchorOf(bundle), facts)];
}

/**
 * Checks a bundle alone, without the chain: `evidence` if it has the proof, `raw_tx`, in a batch `inclusion_path`, and
 * `payload`: whether the signed transaction contains the anchor of the other members. Only the chain can show that the
 * transaction is in the chain.
 *
 * @throws TypeError if the bundle is not from `readBundle`.
 */
export function auditBundleAlone(bundle: Bundle): AuditCheck[] {
  const { proof_hash, inclusion, anchor } = bundle;
  const leaf = leafHash(statedAnchorOf(bundle));
  const path =
    inclusion === null
      ? []
      : [
          check('inclusion_path', rootFromPath(leaf, inclusion) === inclusion.root, {
            holds: 'Proof, task, robot and claim make a leaf whose path leads to the root',
            fails: 'No path leads from proof, task, robot and claim to the root',
          }),
        ];
  const payload = payloadOf(proof_hash, leaf, inclusion);
  return [
    ...auditFile(bundle),
    ...path,
    check('payload', payload !== null && holdsBytes(anchor.raw_tx, payload), {
      holds: 'The signed transaction contains the anchor of this proof',
      fails: 'The signed transaction does not contain the anchor of this proof',
    }),
  ];
}

/** The payload; null if there are more leaves than a payload can count. */
function payloadOf(proof_hash: Hex, leaf: Hex, inclusion: Inclusion | null): Hex | null {
  if (inclusion === null) return encodePayload({ kind: 'single', proof_hash, leaf });
  const { leaf_count } = inclusion;
  if (leaf_count > MAX_LEAF_COUNT) return null;
  return encodePayload({ kind: 'batch', root: inclusion.root as Hex, leaf_count });
}

/** Whether `all` contains `part`, aligned to whole bytes. */
function holdsBytes(all: Hex, part: Hex): boolean {
  return all.slice(2).indexOf(part.slice(2)) % 2 === 0;
}

function auditFile(bundle: Bundle): AuditCheck[] {
  return [...auditEvidence(bundle), auditRawTransaction(bundle)];
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
  return check('raw_tx', hashTransaction(anchor.raw_tx) === anchor.tx_hash, {
    holds: 'The signed transaction has the stated hash',
    fails: 'The signed transaction has another hash',
  });
}

/** Hash of a signed transaction: Keccak-256 of its bytes (Ethereum Yellow Paper, section 4.3; EIP-2718). */
function hashTransaction(rawTx: string): string {
  return bytesToHex(keccak_256(hexToBytes(rawTx)));
}
