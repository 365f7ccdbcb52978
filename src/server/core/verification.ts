// Public verification: compares a stored proof with the chain. Equal reads of the chain are shared.

import { FairQueue } from '../../base/fair-queue.ts';
import type { Chain } from '../../chain/chain.ts';
import { depthOf } from '../../chain/read-block.ts';
import { auditAnchor, type StatedAnchor } from '../../proof/audit-anchor.ts';
import { type AuditCheck, isProven } from '../../proof/audit-check.ts';
import type { Hex } from '../../proof/bytes.ts';
import { readTransaction } from '../../proof/signed-transaction.ts';
import type { AnchorTransaction, PublicVerification } from '../../protocol/resources.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { CompletionRecord, PublicAnchor, ReceiptRecord } from '../ports/tasks.ts';
import type { Deps } from './deps.ts';
import { anchoringChainId, explorerUrlOf } from './operations.ts';

type AnchorView = PublicVerification['anchor'];
type ChainAnchor = Awaited<ReturnType<Chain['readAnchor']>>;

/**
 * Checks a proof hash (lower case) against a fresh read of the chain. Throws `not_found`. Throws `chain_unavailable`
 * rather than report a proof as not verified because the chain cannot be read.
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
    inclusion: receipt.inclusion,
    tx_hash: receipt.txHash,
    block_number: receipt.blockNumber.toString(),
    anchored_at: formatTimestamp(receipt.anchoredAt),
    from: receipt.from,
  } satisfies StatedAnchor;
  const asProven = proven === null ? null : await readProven(reads, receipt, proven);
  const seen = asProven ?? (await reads.readAnchor(receipt.txHash));
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
 * Reads the block of a final anchor whose chain proof is stored: its hash commits to the stored transaction. Null if
 * the block or its transactions are not the recorded ones; then the whole anchor must be read.
 */
async function readProven(
  { readBlock, readHeads }: ChainReads,
  { txHash, blockNumber }: ReceiptRecord,
  { blockHash, txIndex, rawTx }: NonNullable<PublicAnchor['proven']>,
): Promise<ChainAnchor | null> {
  const [block, heads] = await Promise.all([readBlock(blockNumber), readHeads()]);
  if (block?.hash !== blockHash || !block.transactions.has(txHash)) return null;
  const tx = transactionOf(rawTx);
  if (tx?.hash !== txHash || tx.to === null) return null;
  const number = blockNumber.toString();
  return {
    facts: {
      chain_id: Number(tx.chainId),
      // The signature was checked when the chain proof was stored: an anchor is sent from an account to itself.
      tx: { hash: txHash, from: tx.to, to: tx.to, value: String(tx.value), input: tx.input },
      receipt: {
        status: 'success',
        block_number: number,
        block_hash: blockHash,
        tx_index: txIndex,
      },
      canonical_block: { hash: block.hash, number, timestamp: formatTimestamp(block.timestamp) },
    },
    ...depthOf(blockNumber, heads),
  };
}

/** Null if the bytes are not a transaction of the service. */
function transactionOf(rawTx: Hex): ReturnType<typeof readTransaction> | null {
  try {
    return readTransaction(rawTx);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** Whether the calldata of the mined transaction is exactly what the stored anchor requires. */
function payloadFound(checks: readonly AuditCheck[], { facts }: ChainAnchor): boolean {
  return facts.receipt !== null && isProven(checks.filter(({ name }) => payloadChecks.has(name)));
}

/** Reads in progress, of one caller and in total. */
const READS = { ofOneAtOnce: 8, atOnce: 16 };

/** Reads that wait for their turn. A caller has at most 64 verifications in progress. */
const WAITING = { ofOne: 64, inAll: 1024 };
const LONGEST_WAIT_MS = 10_000;

/** The chain reads of public verification, each shared by all who ask for the same thing. */
export type ChainReads = Pick<Chain, 'readAnchor' | 'readBlock' | 'readHeads'>;

/**
 * Shares the reads of a chain: of a transaction, of a block, and of the heads. Returns the reads of a caller: a source
 * or an account. A read of a transaction or block begins in the first turn that one of its callers gets; it rejects
 * with `chain_unavailable` for a caller who waits for 10 s.
 */
export function shareChainReads(chain: ChainReads): (caller: string) => ChainReads {
  const turns = new FairQueue({
    ...READS,
    waiting: WAITING,
    longestWaitMs: LONGEST_WAIT_MS,
    refusal: () => wireError('chain_unavailable', 'Too many verifications are in progress.'),
  });
  const readAnchor = shareReads((txHash: Hex) => chain.readAnchor(txHash), turns);
  const readBlock = shareReads((number: bigint) => chain.readBlock(number), turns);
  const readHeads = shareReads(() => chain.readHeads());
  return (caller) => ({
    readAnchor: (txHash) => readAnchor(txHash, caller),
    readBlock: (number) => readBlock(number, caller),
    readHeads: () => readHeads(null, caller),
  });
}

interface SharedRead<Value> {
  /** Null until one of its callers has a turn. */
  value: Promise<Value> | null;
  /** Aborts then: the other callers need no turn. */
  readonly begun: AbortController;
}

/** Shares reads. Reads of one key never run concurrently, and a caller only gets a read that started after its call. */
export function shareReads<Key, Value>(
  read: (key: Key) => Promise<Value>,
  turns?: FairQueue,
): (key: Key, caller: string) => Promise<Value> {
  const running = new Map<Key, Promise<Value>>();
  /** Reads that have not started, and may get more callers. */
  const next = new Map<Key, SharedRead<Value>>();

  async function begin(key: Key, shared: SharedRead<Value>): Promise<Value> {
    shared.begun.abort();
    while (running.has(key)) await running.get(key)?.catch(() => {});
    close(key, shared);
    const value = read(key);
    running.set(key, value);
    try {
      return await value;
    } finally {
      running.delete(key);
    }
  }

  function close(key: Key, shared: SharedRead<Value>): void {
    if (next.get(key) === shared) next.delete(key);
  }

  return async (key, caller) => {
    const shared = next.get(key) ?? { value: null, begun: new AbortController() };
    next.set(key, shared);
    const start = () => {
      shared.value ??= begin(key, shared);
      return shared.value;
    };
    if (turns === undefined) return start();
    try {
      return await turns.run(caller, start, shared.begun.signal);
    } catch (error) {
      // Either the turn of another caller came first, or the read failed.
      if (shared.value !== null) return shared.value;
      close(key, shared);
      throw error;
    }
  };
}
