// Checks a bundle, alone or against the chain.
import { auditAnchor, type ChainFacts } from './audit-anchor.ts';
import { type AuditCheck, check } from './audit-check.ts';
import {
  type Anchored,
  auditEvidence,
  auditRawTransaction,
  statedAnchorOf,
  statedOf,
} from './bundle-checks.ts';
import type { Hex } from './bytes.ts';
import { auditChainProof } from './chain-proof.ts';
import { leafHash } from './leaf.ts';
import { encodePayload } from './payload.ts';
import { MAX_LEAF_COUNT, rootFromPath } from './tree.ts';

/**
 * Compares a bundle with the data of the chain: `evidence` if it has the proof, `raw_tx`, then every check of
 * `auditAnchor`, then those of `auditChainProof` that are missing, if it has a chain proof. A changed claim, task id or
 * robot id fails `leaf`, or in a batch `inclusion_path`. No check covers the name of the robot: it is stated, not proven.
 * `auditChainProof` checks the chain proof.
 *
 * The signatures of a signed bundle are not checked: see `auditSigning`.
 *
 * @throws TypeError if claim or evidence contains anything but JSON values; those of `readBundle` never do.
 */
export function auditBundle(bundle: Anchored, facts: ChainFacts): AuditCheck[] {
  const checks = [...auditFile(bundle), ...auditAnchor(statedOf(bundle), facts)];
  if (bundle.chain_proof === undefined) return checks;
  const made = new Set(checks.map(({ name }) => name));
  const block = facts.canonical_block;
  const proof = auditChainProof(bundle, block?.hash ?? '').map((one) =>
    one.name === 'header' && block === null
      ? { ...one, detail: 'Cannot be checked without the block' }
      : one,
  );
  return [...checks, ...proof.filter(({ name }) => !made.has(name))];
}

/**
 * Checks a bundle alone, without the chain. With a chain proof: the checks of `auditChainProof` at the stated block hash.
 * Otherwise: `evidence` if it has the proof, `raw_tx`, in a batch `inclusion_path`, and
 * `payload`: whether the signed transaction contains the anchor of the other members. Only the chain can show that the
 * transaction is in the chain. The signatures of a signed bundle are not checked: see `auditSigning`.
 *
 * @throws TypeError if the bundle is not from `readBundle`.
 */
export function auditBundleAlone(bundle: Anchored): AuditCheck[] {
  if (bundle.chain_proof !== undefined) {
    return auditChainProof(bundle, bundle.anchor.block_hash).map((one) =>
      one.name === 'header' && one.ok
        ? { ...one, detail: 'The block header hashes to the block hash in the bundle' }
        : one,
    );
  }
  const { inclusion, anchor } = bundle;
  const leaf = 'leaf' in bundle ? bundle.leaf : leafHash(statedAnchorOf(bundle));
  const path =
    inclusion === null
      ? []
      : [
          check('inclusion_path', rootFromPath(leaf, inclusion) === inclusion.root, {
            holds: 'Proof, task, robot and claim make a leaf whose path leads to the root',
            fails: 'No path leads from proof, task, robot and claim to the root',
          }),
        ];
  const payload = payloadOf(bundle, leaf);
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
function payloadOf(bundle: Anchored, leaf: Hex): Hex | null {
  const { inclusion } = bundle;
  if (inclusion === null) {
    // The hash of the proof is not known.
    return 'leaf' in bundle
      ? leaf
      : encodePayload({ kind: 'single', proof_hash: bundle.proof_hash, leaf });
  }
  const { root, leaf_count } = inclusion;
  if (leaf_count > MAX_LEAF_COUNT) return null;
  return encodePayload({ kind: 'batch', root: root as Hex, leaf_count });
}

/** Whether `all` contains `part`, aligned to whole bytes. */
function holdsBytes(all: Hex, part: Hex): boolean {
  return all.slice(2).indexOf(part.slice(2)) % 2 === 0;
}

function auditFile(bundle: Anchored): AuditCheck[] {
  return [...auditEvidence(bundle), auditRawTransaction(bundle)];
}
