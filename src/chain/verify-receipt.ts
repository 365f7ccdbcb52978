import { type AuditCheck, auditAnchor } from '../proof/audit-anchor.ts';
import type { Verification } from '../protocol/resources.ts';
import { type AnchorReading, readAnchor } from './read-anchor.ts';
import { connectRpc } from './rpc.ts';

export interface ReceiptAudit extends Pick<AnchorReading, 'confirmations' | 'finality'> {
  checks: AuditCheck[];
  /** Who sent the transaction, in lower case; null when the node does not know it. */
  sender: string | null;
}

/**
 * Holds a receipt against the chain behind any RPC URL, without a word from the service. `from`, the
 * account that is expected to have sent it, is checked where it is given.
 * Rejects with `chain_unavailable` when the chain cannot be read.
 */
export async function verifyReceipt(
  receipt: Verification,
  node: { rpcUrl: string; from?: string; timeoutMs?: number },
): Promise<ReceiptAudit> {
  const { rpcUrl: url, from, timeoutMs } = node;
  const rpc = connectRpc({ url, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
  try {
    const { facts, ...standing } = await readAnchor(rpc.reading, receipt.tx_hash as `0x${string}`);
    const checks = auditAnchor({ ...receipt, from }, facts);
    return { ...standing, checks, sender: facts.tx?.from ?? null };
  } finally {
    await rpc.close();
  }
}
