// What every stage of anchoring works with: dependencies, options, steps and reasons to wait.
import type { BackoffRange } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { AnchorKey } from '../../chain/anchor-key.ts';
import type { AnchorChain } from '../../chain/chain.ts';
import type { AnchorStore, ChainIdentity, Lease } from '../ports/anchoring.ts';
import type { QueueLock } from './queue-lock.ts';

/** Pauses of the anchor loop in milliseconds. Tests shorten them. */
export const PAUSES = {
  /** Assumed block time until blocks are seen. */
  blockMs: 1_000,
  /** Minimum between two looks for receipts. */
  pollMs: 50,
  /** Minimum between two surveys of fees and funds. */
  senderStateMs: 1_000,
  /** After a look at fees or a balance that left no replacement, and after a refusal of the fees. */
  bumpAgainMs: 1_000,
  /** Before refused bytes are broadcast again: a refusal may pass sooner than a block comes. */
  refusedMs: 5_000,
  /** Before another look at what was mined and is no anchor: only a node that lied changes its answer. */
  failedLookMs: 5_000,
  /**
   * How long the nonce of a new sender must stay the same where no second block comes. Longer than the block time of
   * any chain that makes blocks by the clock.
   */
  firstNonceMs: 15_000,
};

export type AnchoringPauses = Readonly<typeof PAUSES>;

export interface AnchoringLimits {
  /** Blocks, the including one counted, before an inclusion is recorded. */
  readonly confirmations: number;
  /** Most leaves in one transaction. */
  readonly batchMax: number;
  /** How long to gather while a transaction is in flight. */
  readonly lingerMs: number;
  /** Most transactions that are sent and not mined. */
  readonly maxInFlight: number;
  /** Without a block for so long, the lowest nonce is replaced at higher fees, and the others are sent again. */
  readonly bumpAfterMs: number;
  readonly leaseTtlMs: number;
  /** Wei. Nothing is signed for more. */
  readonly maxFeePerGas: bigint;
  readonly pauses: AnchoringPauses;
}

/**
 * The boundaries between durable steps, in the order an anchor passes them. A crash at any of them
 * must be harmless; those that end in `_signed`, `_sent` and `_found` come before the commit that records them.
 */
export type AnchorStep =
  | 'attempt_signed'
  | 'attempt_committed'
  | 'broadcast_sent'
  | 'broadcast_recorded'
  | 'inclusion_found'
  | 'inclusion_recorded'
  | 'leaves_settled'
  | 'variant_signed'
  | 'variant_committed'
  | 'inclusion_changed'
  | 'inclusion_change_recorded'
  | 'replaced_nonce_found'
  | 'replaced_nonce_recorded';

/** Why anchoring is not at its best; kept in the store for `/readyz`. */
export type Degradation =
  | 'chain_unreachable'
  | 'chain_mismatch'
  | 'chain_unsupported'
  | 'underfunded'
  | 'fee_cap'
  | 'sender_has_code'
  /** Before the first nonce is taken, the node's pool still holds transactions of the sender. */
  | 'sender_busy'
  | 'nonce_conflict'
  /** The chain counts fewer transactions of the sender than we saw mined. */
  | 'nonce_behind'
  /** Something fails that is not the chain; the log has it, and it is tried again. */
  | 'anchoring_failing'
  /** The node says that an anchor would fail on every node; proofs wait until that stands. */
  | 'gas_refused'
  /** A node refuses stored bytes; they are offered again. */
  | 'broadcast_refused'
  /** A transaction of ours is mined and is no anchor. */
  | 'attempt_reverted'
  /** A transaction of an account whose key is not configured waits for a dearer variant, which needs the key. */
  | 'foreign_attempts_open'
  /** One of the RPC URLs does not answer as it should. */
  | 'provider_unhealthy'
  /** One of the RPC URLs is of another chain. */
  | 'provider_wrong_chain';

/** Why nothing may be signed now. `first_nonce`: how every new sender begins, so no degradation. */
export type Hold = Degradation | 'first_nonce';

export interface AnchorerDependencies {
  readonly store: AnchorStore;
  readonly chain: AnchorChain;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: AnchoringLimits;
  /** For tests that end the process at a step. */
  readonly onStep?: ((step: AnchorStep) => void | Promise<void>) | undefined;
}

/** One account, and what its engine works with. */
export interface AccountLoopDependencies extends AnchorerDependencies {
  /** Checksummed. */
  readonly address: string;
  /** Null for an account that was used before: it is followed, and nothing is signed. */
  readonly key: AnchorKey | null;
  readonly queueLock: QueueLock;
}

/** What every part of the engine works with while the lease is held. */
export interface AnchoringContext extends AccountLoopDependencies {
  readonly lease: Lease;
  /** The chain of this database; nothing is read, signed or recorded on another. */
  readonly identity: ChainIdentity;
  /** Aborts when the anchorer stops or loses the lease. */
  readonly signal: AbortSignal;
}

export const RETRY: BackoffRange = { firstMs: 50, maxMs: 2_000 };
