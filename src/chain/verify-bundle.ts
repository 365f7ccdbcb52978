import { auditBundle } from '../proof/audit-bundle.ts';
import type { Bundle } from '../proof/bundle.ts';
import { readAnchor } from './read-anchor.ts';
import { connectRpc } from './rpc.ts';
import type { ReceiptAudit } from './verify-receipt.ts';

/**
 * Holds a bundle against the chain behind any RPC URL, without a word from the service. A node that no longer
 * knows the transaction by its hash is asked for it by block hash and index.
 * Rejects with `chain_unavailable` when the chain cannot be read.
 */
export async function verifyBundle(
  bundle: Bundle,
  node: { rpcUrl: string; timeoutMs?: number },
): Promise<ReceiptAudit> {
  const { rpcUrl: url, timeoutMs } = node;
  const { tx_hash, block_hash: blockHash, tx_index: txIndex } = bundle.anchor;
  const rpc = connectRpc({ url, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  try {
    const { facts, ...standing } = await readAnchor(rpc.reading, tx_hash, {
      place: { blockHash, txIndex },
    });
    const checks = auditBundle(bundle, facts);
    return { ...standing, checks, sender: facts.tx?.from ?? null };
  } finally {
    await rpc.close();
  }
}
