// What a bundle of signed work has in addition: the key, its texts, the statements, and where they are anchored.

import { runYielding } from '../../../base/async/cooperative-yield.ts';
import type { Hex } from '../../../proof/bytes.ts';
import type { ChainProof } from '../../../proof/chain-proof.ts';
import { type FreeLeafKind, freeLeafHash } from '../../../proof/leaf.ts';
import { hashText } from '../../../proof/statements/jws.ts';
import { growMerkleTree } from '../../../proof/tree.ts';
import type { Answer } from '../../../protocol/routes.ts';
import { formatTimestamp } from '../../../protocol/timestamp.ts';
import { wireError } from '../../ports/errors.ts';
import type { BundleRecord, LeafAnchorRecord } from '../../ports/evidence.ts';
import type { SignedKeyText } from '../../ports/identity.ts';
import type { Deps } from '../deps.ts';

type SignedBundle = Extract<Answer<'getBundle'>['body'], { format: 'svc-bundle/3' }>;

/** Reads the anchors of the free leaves one after the other: the tree of each has to be computed. */
export async function viewSigning(
  store: Deps['store'],
  { key, result, claim }: NonNullable<BundleRecord['signing']>,
): Promise<SignedBundle['signing']> {
  const anchorOf = async (kind: FreeLeafKind, text: string) => {
    const found = await store.getLeafAnchor(freeLeafHash(kind, hashText(text)), null);
    return found && viewLeafAnchor(found);
  };
  const signedText = async ({ text, signature }: SignedKeyText) => {
    return { text, signature, anchor: await anchorOf('key_text', text) };
  };
  const revocation = key.revocation && (await signedText(key.revocation));
  return {
    key: { public_key: key.publicKey, ...(await signedText(key.grant)) },
    // Until it is in a block, a revocation invalidates no anchored result.
    revocation: revocation?.anchor ? revocation : null,
    claim: claim === null ? null : { statement: claim, anchor: await anchorOf('claim', claim) },
    result: { statement: result },
  };
}

/** Throws `leaf_not_anchored` while the leaf is in no block. */
export async function readLeafAnchor(
  { store }: Deps,
  leaf: Hex,
  taskId: string,
): Promise<Answer<'readLeafAnchor'>['body']> {
  const found = await store.getLeafAnchor(leaf, taskId);
  if (found === null) throw wireError('leaf_not_anchored', 'This leaf is in no block.');
  const view = await viewLeafAnchor(found);
  const inclusion = found.leaves.length === 1 ? null : view.inclusion;
  return { chain_id: found.chainId, leaf, ...view, inclusion };
}

async function viewLeafAnchor({ leaves, leafIndex, chainProof, ...place }: LeafAnchorRecord) {
  const { root, path } = await runYielding(growMerkleTree(leaves));
  return {
    inclusion: {
      root,
      leaf_index: leafIndex,
      leaf_count: leaves.length,
      path: path(leafIndex),
    },
    anchor: viewAnchorPlace(place),
    ...viewChainProof(chainProof),
  };
}

/** The transaction of an anchor, and its place in the chain. */
export function viewAnchorPlace(
  place: Omit<LeafAnchorRecord, 'chainId' | 'leaves' | 'leafIndex' | 'chainProof'>,
): SignedBundle['anchor'] {
  return {
    tx_hash: place.txHash,
    block_number: place.blockNumber.toString(),
    block_hash: place.blockHash,
    tx_index: place.txIndex,
    from: place.from.toLowerCase(),
    anchored_at: formatTimestamp(place.anchoredAt),
    raw_tx: place.rawTx,
  };
}

/** No member without a chain proof. */
export function viewChainProof(chainProof: ChainProof | null): Pick<SignedBundle, 'chain_proof'> {
  if (chainProof === null) return {};
  const { header, nodes } = chainProof;
  return { chain_proof: { header, nodes: [...nodes] } };
}
