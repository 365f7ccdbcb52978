// Public verification: compares a stored proof with the chain.

import { orNull } from '../../base/or-null.ts';
import type { Chain } from '../../chain/chain.ts';
import type { ProvenBlock } from '../../chain/chain-proof.ts';
import { depthOf } from '../../chain/read-block.ts';
import { auditAnchor, type StatedAnchor } from '../../proof/audit-anchor.ts';
import { type AuditCheck, isProven } from '../../proof/audit-check.ts';
import type { Hex } from '../../proof/bytes.ts';
import { readTransaction } from '../../proof/signed-transaction.ts';
import type { AnchorTransaction, PublicVerification } from '../../protocol/resources.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { CompletionRecord, PublicAnchor, ReceiptRecord } from '../ports/tasks.ts';
import type { ChainReads } from './chain-reads.ts';
import type { Deps } from './deps.ts';
import { anchoringChainId, explorerUrlOf } from './operations.ts';

type AnchorView = PublicVerification['anchor'];
type ChainAnchor = Awaited<ReturnType<Chain['readAnchor']>>;

/**
 * Checks a proof hash (lower case) against a fresh read of the chain. Throws `not_found`. Throws `chain_unavailable`
 * or `overloaded` rather than report a proof as not verified because the chain cannot be read.
 */
export async function verifyProofHash(
  deps: Deps,
  reads: ChainReads,
  proofHash: Hex,
  taskId: string | null,
): Promise<PublicVerification> {
  const found = await deps.store.findPublicAnchor(proofHash, taskId);
  if (found === null || found.task.completion === null) {
    throw wireError('not_found', 'No task has this proof hash.');
  }
  const { completion } = found.task;
  const { verified, anchor } =
    completion.receipt === null
      ? { verified: false, anchor: await viewPending(deps, completion) }
      : await viewAnchored(deps, reads, found, completion, completion.receipt);
  return {
    verified,
    proof_hash: proofHash,
    task: {
      id: found.task.id,
      title: found.task.title,
      robot: found.robotName,
      status: found.task.status,
      robot_id: found.task.robotId,
      claim_hash: completion.claimHash,
      ...(completion.statementHash && { statement_hash: completion.statementHash }),
    },
    anchor,
    occurrences: found.occurrences,
    checked_at: formatTimestamp(deps.clock.now()),
  };
}

/** What the service states about a final anchor. */
export interface StatedProof extends PublicAnchor {
  receipt: ReceiptRecord;
  /** Whether the list of anchoring accounts has the sender for this block. */
  isPublished: boolean;
}

/** Reads what the store has of a final anchor, without a call to the chain; null if no anchor of the hash is final. */
export async function readStatedProof(
  { store }: Deps,
  proofHash: Hex,
  taskId: string | null,
): Promise<StatedProof | null> {
  const found = await store.findPublicAnchor(proofHash, taskId);
  const receipt = found?.task.completion?.receipt;
  if (!found || receipt?.finality !== 'finalized') return null;
  const accounts = await store.listAnchoringAccounts();
  const isPublished = accounts.some(
    ({ chainId, address, lastBlock }) =>
      chainId === receipt.chainId &&
      address.toLowerCase() === receipt.from.toLowerCase() &&
      (lastBlock === null || receipt.blockNumber <= lastBlock),
  );
  return { ...found, receipt, isPublished };
}

/**
 * What the chain knows of a transaction (hash in lower case), freshly read. Throws `not_found` for a transaction that
 * this service did not sign, so that it cannot be used to read the whole chain, and `chain_unavailable`.
 */
export async function readAnchorTransaction(
  deps: Deps,
  { readAnchor }: Pick<ChainReads, 'readAnchor'>,
  txHash: Hex,
): Promise<AnchorTransaction> {
  if (!(await deps.store.hasAnchorTransaction(txHash))) {
    throw wireError('not_found', 'This service anchored no proof in this transaction.');
  }
  const { facts, confirmations, finality } = await readAnchor(txHash);
  return {
    ...facts,
    confirmations: confirmations?.toString() ?? null,
    finality,
    checked_at: formatTimestamp(deps.clock.now()),
  };
}

const payloadChecks: ReadonlySet<AuditCheck['name']> = new Set([
  'transaction_found',
  'payload',
  'proof_hash',
  'leaf',
  'leaf_count',
  'root',
  'inclusion_path',
]);

/** Without a receipt there is no claim for the chain to confirm. */
async function viewPending(deps: Deps, { txHash }: CompletionRecord): Promise<AnchorView> {
  const chainId = await anchoringChainId(deps);
  return {
    tx_hash: txHash,
    block_number: null,
    anchored_at: null,
    explorer_url: txHash === null ? null : explorerUrlOf(await deps.network(chainId), txHash),
    on_chain_payload_found: false,
    chain_id: chainId,
    from: null,
    inclusion: null,
    confirmations: null,
    finality: null,
  };
}

async function viewAnchored(
  deps: Deps,
  reads: ChainReads,
  { task, proven }: PublicAnchor,
  completion: CompletionRecord,
  receipt: ReceiptRecord,
): Promise<{ verified: boolean; anchor: AnchorView }> {
  const stated = {
    chain_id: receipt.chainId,
    proof_hash: completion.proofHash,
    task_id: task.id,
    robot_id: task.robotId,
    claim_hash: completion.claimHash,
    statement_hash: completion.statementHash,
    inclusion: receipt.inclusion,
    tx_hash: receipt.txHash,
    block_number: receipt.blockNumber.toString(),
    anchored_at: formatTimestamp(receipt.anchoredAt),
    from: receipt.from,
  } satisfies StatedAnchor;
  const seen =
    (await readProven(reads, receipt, proven)) ?? (await reads.readAnchor(receipt.txHash));
  const checks = auditAnchor(stated, seen.facts);
  const network = await deps.network(receipt.chainId);
  return {
    verified: isProven(checks) && receipt.finality !== 'reorged',
    anchor: {
      tx_hash: stated.tx_hash,
      block_number: stated.block_number,
      anchored_at: stated.anchored_at,
      explorer_url: explorerUrlOf(network, receipt.txHash),
      on_chain_payload_found: payloadFound(checks, seen),
      chain_id: stated.chain_id,
      from: stated.from,
      inclusion: stated.inclusion,
      confirmations: seen.confirmations?.toString() ?? null,
      finality: receipt.finality === 'reorged' ? 'reorged' : seen.finality,
    },
  };
}

/**
 * Reads which block the chain has at the number of the receipt now. The hash of this block proves the rest: the stored
 * transaction of a final anchor with a chain proof, otherwise what the block was once read to hold. Null if it proves
 * nothing of the transaction; then the whole anchor must be read.
 */
async function readProven(
  { readBlock, readHeads, readProvenBlock }: ChainReads,
  { txHash, blockNumber }: ReceiptRecord,
  stored: PublicAnchor['proven'],
): Promise<ChainAnchor | null> {
  const [block, heads] = await Promise.all([readBlock(blockNumber), readHeads()]);
  if (block === null || !block.transactions.has(txHash)) return null;
  const { hash } = block;
  const asStored = stored?.blockHash === hash ? storedAnchor(stored) : null;
  const found = asStored ?? anchorIn(await readProvenBlock(hash), { txHash, blockNumber });
  if (found?.tx.hash !== txHash) return null;
  const { tx, txIndex, status } = found;
  const number = blockNumber.toString();
  return {
    facts: {
      chain_id: Number(tx.chainId),
      tx: { hash: txHash, from: tx.from, to: tx.to, value: String(tx.value), input: tx.input },
      receipt: { status, block_number: number, block_hash: hash, tx_index: txIndex },
      canonical_block: { hash, number, timestamp: formatTimestamp(block.timestamp) },
    },
    ...depthOf(blockNumber, heads),
  };
}

function anchorIn(
  block: ProvenBlock | null,
  { txHash, blockNumber }: Pick<ReceiptRecord, 'txHash' | 'blockNumber'>,
) {
  return block?.number === blockNumber ? block.anchors.get(txHash) : undefined;
}

/** Null if the bytes are not a transaction of the service. The providers confirmed that it succeeded. */
function storedAnchor({ rawTx, txIndex }: NonNullable<PublicAnchor['proven']>) {
  const tx = orNull(() => readTransaction(rawTx), [TypeError]);
  if (tx === null || tx.to === null) return null;
  // The signature was checked when the chain proof was stored: an anchor is sent from an account to itself.
  return { tx: { ...tx, from: tx.to }, txIndex, status: 'success' as const };
}

/** Whether the calldata of the mined transaction is exactly what the stored anchor requires. */
function payloadFound(checks: readonly AuditCheck[], { facts }: ChainAnchor): boolean {
  return facts.receipt !== null && isProven(checks.filter(({ name }) => payloadChecks.has(name)));
}
