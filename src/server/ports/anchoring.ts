// What anchoring asks of the store: queue, attempts, leases, inclusion, settlement.
import type { Hex } from '../../proof/bytes.ts';

/*
 * The anchorer's side of the store. Conventions as in ports.ts: instants in milliseconds, amounts in wei,
 * every promise of a write resolves only after the write is durable.
 */

export interface ChainIdentity {
  chainId: number;
  genesisHash: Hex;
}

/** What a reservation is computed from; kept in the store so that a request needs no RPC. */
export interface FeeQuote {
  /** Gas of a single's transaction. */
  singleGas: bigint;
  baseFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Estimated L2 data fee of a single; 0 where the chain has none. */
  dataFeeWei: bigint;
}

/** Held by one process per (chain, sender); every anchorer write checks holder and fence. */
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
  queuedAt: number;
}

export interface Variant {
  txHash: Hex;
  rawTx: Hex;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** One nonce, one payload, its leaves; the first variant is stored with it. */
export interface NewAttempt {
  id: string;
  nonce: number;
  /** Calldata. */
  payload: Hex;
  /** Null for a single. */
  root: Hex | null;
  /** In tree order, of which the inclusion paths follow. */
  leaves: { taskId: string; leaf: Hex }[];
  variant: Variant;
  now: number;
}

export type AttemptState = 'signed' | 'submitted' | 'included' | 'finalized' | 'reorged' | 'dead';

export interface OpenAttempt {
  id: string;
  nonce: number;
  state: AttemptState;
  payload: Hex;
  leafCount: number;
  unsettledLeaves: number;
  /** Oldest first, each dearer than the one before; an adopted one may be cheaper. */
  variants: Variant[];
  /** Where it was mined last, on the chain still or not; null when it never was. */
  minedTxHash: Hex | null;
  /** An anchor of another service that has its nonce by the operator's word; null mostly. */
  takenBy: Hex | null;
  createdAt: number;
}

/** In a block that is not final yet. */
export interface IncludedAttempt {
  id: string;
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  isSafe: boolean;
}

/** In a block, by what is stored, final or not. */
export interface MinedAttempt extends IncludedAttempt {
  isFinal: boolean;
  /** Of the variant that was mined. */
  rawTx: Hex;
}

/** What became of included attempts, by their ids; no id twice. */
export interface InclusionChanges {
  safe: readonly string[];
  finalized: readonly string[];
  /** Another block stands at their number, finalized ones too. */
  reorged: readonly string[];
}

/** Where a variant was mined; checked by the anchorer against the canonical chain before it is stored. */
export interface MinedVariant {
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  txIndex: number;
  blockTimestamp: number;
  gasUsed: bigint;
  effectiveGasPrice: bigint;
  /** `l1Fee` of an L2's receipt, else 0. */
  dataFeeWei: bigint;
}

/**
 * The anchorer's side. Every method that takes a lease rejects with SvcError `lease_lost`, nothing
 * written, when another holder or fence owns it or it has run out.
 */
export interface AnchorStore {
  /** First call fixes the chain of this database; later ones reject with `chain_mismatch` if it differs. */
  bindChain(identity: ChainIdentity): Promise<void>;
  getChainIdentity(): Promise<ChainIdentity | null>;
  /** Every account that ever held a lease here, for any chain of this database. */
  listAnchorAddresses(): Promise<string[]>;
  /**
   * A new fence each time it changes hands; null while another holder's has not run out, unless the holder goes before
   * that one (lease-holders.ts), and while it is held (`OperationsStore.holdQueue`).
   */
  acquireLease(
    sender: { chainId: number; address: string },
    holder: string,
    ttlMs: number,
    now: number,
  ): Promise<Lease | null>;
  renewLease(lease: Lease, ttlMs: number, now: number): Promise<void>;
  releaseLease(lease: Lease): Promise<void>;
  /**
   * Fees for reservations, why anchoring of this sender is not at its best (empty when it is), and how many of
   * its attempts wait for price, funds or key. Lasts as long as the lease is held.
   */
  saveChainStatus(
    lease: Lease,
    status: { quote?: FeeQuote; degraded: string[]; parked: number; now: number },
  ): Promise<void>;
  /** Reasons of all senders whose lease is held, each once, and those of the database. */
  getChainStatus(): Promise<{
    quote: FeeQuote | null;
    degraded: string[];
    parked: number;
    updatedAt: number;
  } | null>;
  /** The nonce after the highest ever committed for this sender; null when none was. */
  getNextNonce(lease: Lease): Promise<number | null>;
  /** Oldest first. */
  listQueuedProofs(lease: Lease, limit: number): Promise<QueuedProof[]>;
  /** Resolves when something may be queued, or when the signal aborts. Only a hint. */
  waitForQueuedProof(signal: AbortSignal): Promise<void>;
  /**
   * Step 3: raw transaction, hash, calldata and leaf list together, and the leaves' completions
   * become `submitted`; one commit. Rejects with `not_queued` (nothing written) if a leaf is no longer queued:
   * the caller builds the tree anew. MUST be durable before the transaction is broadcast.
   */
  commitAttempt(lease: Lease, attempt: NewAttempt): Promise<void>;
  /**
   * Another version of an attempt that is in no block, of the same nonce, leaves and calldata. Rejects, nothing
   * written, unless `replaces` is its newest variant and both fees are higher. MUST be durable before it is
   * broadcast.
   */
  addVariant(
    lease: Lease,
    attemptId: string,
    variant: Variant,
    replaces: Hex,
    now: number,
  ): Promise<void>;
  /**
   * A version of an attempt that is in no block, of the same nonce, leaves and calldata, which a block has and this
   * database did not: it was put back to an earlier state. Harmless when repeated.
   */
  adoptVariant(lease: Lease, attemptId: string, variant: Variant, now: number): Promise<void>;
  /** Step 4 done: signed or reorged becomes submitted. */
  recordBroadcast(lease: Lease, attemptId: string, now: number): Promise<void>;
  /** Step 5 done: where it was mined. Nothing is settled yet. What the first inclusion cost stays. */
  recordInclusion(lease: Lease, attemptId: string, mined: MinedVariant, now: number): Promise<void>;
  /**
   * Step 6: settles up to `limit` unsettled leaves of an included attempt in one commit: receipt with its
   * inclusion path, task `verified`, charge (`chargeOf` in core/money.ts), ledger. Safe to repeat after a crash at any point.
   * A task that was verified before keeps its receipt, in its new place, and is not charged again. Wakes the waiting requests after the commit. Answers how many leaves are left.
   */
  settleLeaves(lease: Lease, attemptId: string, limit: number, now: number): Promise<number>;
  /** Step 2's refusal for good, before anything is signed: completion `failed`, reservation released. */
  refuseQueuedProofs(lease: Lease, taskIds: string[], reason: string, now: number): Promise<void>;
  /** Signed, submitted, reorged, and included ones with unsettled leaves; lowest nonce first. */
  listOpenAttempts(lease: Lease): Promise<OpenAttempt[]>;
  /** Included ones that are not final: the `limit` lowest blocks' and the `limit` highest blocks', lowest first. */
  listIncludedAttempts(lease: Lease, limit: number): Promise<IncludedAttempt[]>;
  /** Included ones that are not final, the `limit` next below a place in the order of block and id; highest first. */
  listIncludedBelow(
    lease: Lease,
    place: { blockNumber: bigint; id: string },
    limit: number,
  ): Promise<IncludedAttempt[]>;
  /** Included and finalized attempts from that nonce on; lowest nonce first. */
  listMinedFrom(lease: Lease, fromNonce: number, limit: number): Promise<MinedAttempt[]>;
  /** Whether that nonce, below the next one, was a transaction's from elsewhere: its attempt is dead, or none had it. */
  isUsedElsewhere(lease: Lease, nonce: number): Promise<boolean>;
  /** Step 7, for many attempts in one commit. What their receipts say follows. */
  recordInclusionChanges(lease: Lease, changes: InclusionChanges, now: number): Promise<void>;
  /**
   * The attempt can never be mined: its proofs are queued again in the next generation, under the reservation
   * that they have; one commit. A proof whose task was deleted before it was charged is released.
   */
  recordReplacedNonce(lease: Lease, attemptId: string, now: number): Promise<void>;
  /** Every account with attempts that are open or not final, whoever holds its lease. */
  listOpenSenders(): Promise<{ chainId: number; address: string }[]>;
}
