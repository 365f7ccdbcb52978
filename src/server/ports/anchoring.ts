// The contract of the store with anchoring: queue, attempts, leases, inclusion, settlement, chain proofs. See store.ts.

import type { BackoffRange } from '../../base/async/backoff.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { ChainProof } from '../../proof/chain-proof.ts';

export interface ChainIdentity {
  chainId: number;
  /** The block that identifies the chain: 0, unless too few providers showed it at the first contact. */
  blockNumber: number;
  blockHash: Hex;
}

/** An account that may anchor. */
export interface SenderKey {
  chainId: number;
  address: string;
}

/**
 * The fees from which a reservation is computed. The store keeps the last quote, so that a request needs no RPC call.
 */
export interface FeeQuote {
  /** Gas of a transaction that anchors a single proof. */
  singleGas: bigint;
  baseFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Estimated L2 data fee of a single; 0 on chains without one. */
  dataFeeWei: bigint;
}

/**
 * The right to anchor for one (chain, sender), held by one process at a time. Every write of the anchorer checks holder
 * and fence.
 */
export interface Lease {
  chainId: number;
  sender: string;
  holder: string;
  fence: number;
}

export interface QueuedProof {
  taskId: string;
  proofHash: Hex;
  leaf: Hex;
  generation: number;
}

export interface Variant {
  txHash: Hex;
  rawTx: Hex;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** What an attempt anchors. */
export interface LeavesOfAttempt {
  id: string;
  /** In tree order: inclusion paths are derived from it. */
  leaves: { taskId: string; leaf: Hex }[];
  /** In tree order, behind `leaves`. The attempt's cost is split by `leaves` alone. */
  freeLeaves: readonly Hex[];
  now: number;
}

/** A new anchoring transaction: one nonce, one payload and its leaves. It is stored together with its first variant. */
export interface NewAttempt extends LeavesOfAttempt {
  nonce: number;
  /** Calldata. */
  payload: Hex;
  /** Null for a single. */
  root: Hex | null;
  /** How many of its leaves, the first in the tree, were assigned before. */
  assigned: number;
  variant: Variant;
  /** Counts its highest cost against a cap on the spend of an hour; null without a cap. Replacements do not count. */
  spend: { maxCostWei: bigint; capWei: bigint } | null;
}

export type AttemptState = 'signed' | 'submitted' | 'included' | 'finalized' | 'reorged' | 'dead';

export interface OpenAttempt {
  id: string;
  nonce: number;
  state: AttemptState;
  payload: Hex;
  unsettledLeaves: number;
  /** Oldest first. Each has higher fees than the one before, except that an adopted variant may have lower ones. */
  variants: Variant[];
  /** The variant that was mined last, even if a reorganization has dropped it since; null if none ever was. */
  minedTxHash: Hex | null;
  /** Another service's anchor that used this nonce, as stated by the operator; usually null. */
  takenBy: Hex | null;
  createdAt: number;
}

/** An attempt in a block that is not final yet. */
export interface IncludedAttempt
  extends Pick<MinedVariant, 'txHash' | 'blockNumber' | 'blockHash'> {
  id: string;
  isSafe: boolean;
}

/** An attempt that the store records as mined, final or not. */
export interface MinedAttempt extends IncludedAttempt {
  isFinal: boolean;
  /** Signed bytes of the variant that was mined. */
  rawTx: Hex;
}

/** Changes of included attempts, as lists of attempt ids. No id appears twice. */
export interface InclusionChanges {
  safe: readonly string[];
  finalized: readonly string[];
  /** Another block has replaced theirs. May include finalized attempts. */
  reorged: readonly string[];
}

/** Where a variant was mined. The anchorer checks it against the canonical chain before it is stored. */
export interface MinedVariant {
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  txIndex: number;
  blockTimestamp: number;
  gasUsed: bigint;
  effectiveGasPrice: bigint;
  /** `l1Fee` of an L2 receipt, else 0. */
  dataFeeWei: bigint;
}

/** Balance of an anchoring account and what its next anchor needs, in wei; null if unknown. */
export interface Funds {
  address: string;
  balanceWei: string | null;
  neededWei: string | null;
}

/**
 * The part of the store that the anchorer uses. Every method with a `lease` parameter rejects with SvcError
 * `lease_lost`, and writes nothing, if another holder or fence owns the lease or it has expired.
 */
export interface AnchorStore {
  /**
   * The first call binds the database to this chain. Later calls reject with `chain_mismatch` if the identity differs.
   */
  bindChain(identity: ChainIdentity): Promise<void>;
  getChainIdentity(): Promise<ChainIdentity | null>;
  /** Every account that ever held a lease in this database, for any of its chains. */
  listAnchorAddresses(): Promise<string[]>;
  /**
   * Acquires the lease; the fence increases whenever the holder changes. Null while another holder's lease has not
   * expired, unless that one is a follower and `holder` is not (`FOLLOWER` in rules/anchoring.ts), or PostgreSQL shows
   * over several calls that the process of that one has ended. Null, too, while the sender is held
   * (`OperationsStore.holdQueue`).
   */
  acquireLease(
    sender: SenderKey,
    holder: string,
    ttlMs: number,
    now: number,
  ): Promise<Lease | null>;
  renewLease(lease: Lease, ttlMs: number, now: number): Promise<void>;
  releaseLease(lease: Lease): Promise<void>;
  /**
   * Saves the fees for reservations, the sender's degradations (empty when anchoring is healthy), and how many of its
   * attempts are parked for price, funds or key. Valid as long as the lease is held.
   */
  saveChainStatus(
    lease: Lease,
    status: {
      quote?: FeeQuote;
      degraded: string[];
      parked: number;
      now: number;
      /** Of the sender, in wei. */
      balance?: bigint | null;
      /** What its next anchor needs, in wei. */
      neededWei?: bigint | null;
    },
  ): Promise<void>;
  /** The degradations of all senders with a held lease and of the database itself, without duplicates. */
  getChainStatus(): Promise<{
    quote: FeeQuote | null;
    degraded: string[];
    /** Whether no account can anchor until an operator intervenes (`isAnchoringStopped`). */
    isStopped: boolean;
    parked: number;
    /** The accounts that are underfunded, in the order of their addresses. */
    underfunded: Funds[];
  } | null>;
  /** The nonce after the highest ever committed for this sender; null if none was. */
  getNextNonce(lease: Lease): Promise<number | null>;
  /** Highest cost, in wei, of the attempts that were signed with a cap in the hour before `now`. */
  readReservedSpend(now: number): Promise<bigint>;
  /** Queued proofs in the order of the queue: by round, in which an account has one proof, then oldest first. */
  listQueuedProofs(lease: Lease, limit: number): Promise<QueuedProof[]>;
  /** Leaves that wait for a free place of an attempt, oldest first. */
  listFreeLeaves(lease: Lease, limit: number): Promise<Hex[]>;
  /**
   * Resolves when a proof may have been queued, or when the signal aborts. It can wake without cause: read the queue
   * after.
   */
  waitForQueuedProof(signal: AbortSignal): Promise<void>;
  /**
   * Before step 3, for an attempt with more leaves than one commit may move: assigns its leaves from one index to
   * another, and moves their completions to `submitted`. `commitAttempt` must follow, or `returnLeaves`. Rejects with
   * `not_queued` as `commitAttempt`.
   */
  assignLeaves(lease: Lease, attempt: LeavesOfAttempt, from: number, to: number): Promise<void>;
  /**
   * Returns to the queue up to `limit` leaves of an attempt of this sender that is dead, or was never committed. Call it
   * until it resolves with false: nothing was left to return.
   */
  returnLeaves(lease: Lease, limit: number, now: number): Promise<boolean>;
  /**
   * Step 3: stores raw transaction, hash, calldata and the leaves that were not assigned before, and moves their
   * completions to `submitted`, in one commit. Rejects with `not_queued`, writing nothing, if a leaf is no longer queued
   * or a free leaf no longer waits; the caller then rebuilds the tree. Rejects with `spend_cap`, writing nothing, above
   * the cap. MUST be durable before the transaction is broadcast.
   */
  commitAttempt(lease: Lease, attempt: NewAttempt): Promise<void>;
  /**
   * Adds a replacement transaction with the same nonce, leaves and calldata to an attempt that is in no block. Rejects,
   * writing nothing, unless `replaces` is the attempt's newest variant and both fees are higher. MUST be durable before
   * the replacement is broadcast.
   */
  addVariant(
    lease: Lease,
    attemptId: string,
    variant: Variant,
    replaces: Hex,
    now: number,
  ): Promise<void>;
  /**
   * Adds a mined variant that this database does not know, because it was restored to an earlier state. The variant has
   * the attempt's nonce, leaves and calldata; the attempt is in no block as far as the database knows. Idempotent.
   */
  adoptVariant(lease: Lease, attemptId: string, variant: Variant, now: number): Promise<void>;
  /** Step 4 is done: `signed` or `reorged` becomes `submitted`. */
  recordBroadcast(lease: Lease, attemptId: string, now: number): Promise<void>;
  /** Step 5 is done: records where the attempt was mined. Settles nothing. The cost of the first inclusion is kept. */
  recordInclusion(lease: Lease, attemptId: string, mined: MinedVariant, now: number): Promise<void>;
  /**
   * Step 6: settles up to `limit` unsettled leaves of an included attempt in one commit: receipt with inclusion path,
   * task `verified`, charge (`chargeOf` in rules/credits.ts), ledger. Safe to repeat after a crash at any point. A task
   * that was verified before keeps its receipt, which now shows the new place, and is not charged again. Wakes the
   * waiting requests after the commit. Returns the number of leaves left.
   */
  settleLeaves(lease: Lease, attemptId: string, limit: number, now: number): Promise<number>;
  /**
   * Step 2 found, before anything was signed, that their anchor would fail: the completions become `failed` and their
   * reservations are released.
   */
  failQueuedProofs(lease: Lease, taskIds: string[], reason: string, now: number): Promise<void>;
  /** Attempts that are signed, submitted or reorged, and included ones with unsettled leaves; lowest nonce first. */
  listOpenAttempts(lease: Lease): Promise<OpenAttempt[]>;
  /**
   * Included attempts that are not final: the `limit` in the lowest blocks and the `limit` in the highest, lowest
   * first.
   */
  listIncludedAttempts(lease: Lease, limit: number): Promise<IncludedAttempt[]>;
  /** Included attempts that are not final: the next `limit` below `place`, ordered by block and id, highest first. */
  listIncludedBelow(
    lease: Lease,
    place: { blockNumber: bigint; id: string },
    limit: number,
  ): Promise<IncludedAttempt[]>;
  /** Included and finalized attempts with nonce `fromNonce` or higher; lowest nonce first. */
  listMinedFrom(lease: Lease, fromNonce: number, limit: number): Promise<MinedAttempt[]>;
  /**
   * Whether a foreign transaction used this nonce, which is below the next one: its attempt is dead, or no
   * attempt had it.
   */
  isUsedElsewhere(lease: Lease, nonce: number): Promise<boolean>;
  /** Step 7, for many attempts in one commit. The receipts' finality changes with it. */
  recordInclusionChanges(lease: Lease, changes: InclusionChanges, now: number): Promise<void>;
  /**
   * Ends an attempt that can never be mined. Its first proofs are queued again in the next generation, under their
   * existing reservation, in the same commit; `returnLeaves` queues the others.
   */
  recordReplacedNonce(lease: Lease, attemptId: string, now: number): Promise<void>;
  /**
   * Every account with attempts that are open or not final, or with leaves to return. It does not matter who holds its
   * lease.
   */
  listOpenSenders(): Promise<SenderKey[]>;
}

/** A final anchor without a chain proof, and where it was mined. */
export interface UnprovenAnchor
  extends Pick<MinedVariant, 'txHash' | 'blockNumber' | 'blockHash' | 'txIndex'> {
  attemptId: string;
  chainId: number;
  /** Checksummed. */
  sender: string;
  /** Calldata. */
  payload: Hex;
  rawTx: Hex;
  /** How often it was taken, with this time. */
  tries: number;
}

/**
 * An anchor is due for a chain proof from the commit that makes it final until one is stored. A reorganization removes
 * both.
 */
export interface ChainProofStore {
  /**
   * Takes up to `limit` anchors that are due, those that have waited longest first. Each take puts off the next one of
   * that anchor, as `retry` says without its random part. So a crash or a failure needs no further write, and another
   * instance does not build the same proof meanwhile. Writes nothing if none is due.
   */
  takeUnproven(limit: number, retry: BackoffRange, now: number): Promise<UnprovenAnchor[]>;
  /**
   * Stores the chain proof of an anchor. Returns false, and writes nothing, unless the anchor is still due and final in the same block.
   */
  recordChainProof(
    anchor: Pick<UnprovenAnchor, 'attemptId' | 'txHash' | 'blockHash'>,
    proof: ChainProof,
  ): Promise<boolean>;
  /** Number of final anchors without a stored chain proof; at most 100 000. */
  countMissingChainProofs(): Promise<number>;
}
