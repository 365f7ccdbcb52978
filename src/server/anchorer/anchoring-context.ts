import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { AnchorKey } from '../../chain/anchor-key.ts';
import type { AnchorChain } from '../../chain/chain.ts';
import type { AnchorStore, ChainIdentity, Lease } from '../core/anchor-store.ts';

export interface AnchoringLimits {
  /** Blocks, the including one counted, before an inclusion is recorded. */
  readonly confirmations: number;
  /** Most leaves in one transaction. */
  readonly batchMax: number;
  /** How long to gather while a transaction is in flight. */
  readonly lingerMs: number;
  /** Most transactions that are sent and not mined. */
  readonly maxInFlight: number;
  /** Without a receipt for so long, the stored bytes are broadcast again. */
  readonly rebroadcastAfterMs: number;
  readonly leaseTtlMs: number;
  /** How long the count of a new sender must stand where no second block comes; 15 s if left out. */
  readonly firstNonceMs?: number | undefined;
  /** Wei. Above it nothing is signed. */
  readonly maxFeePerGas: bigint;
}

/**
 * The boundaries between durable steps, in the order an anchor passes them. A crash at any of them
 * must be harmless; `attempt_signed` and `broadcast_sent` come before the commit that records them.
 */
export type AnchorStep =
  | 'attempt_signed'
  | 'attempt_committed'
  | 'broadcast_sent'
  | 'broadcast_recorded'
  | 'inclusion_found'
  | 'inclusion_recorded'
  | 'leaves_settled';

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
  /** The node says that an anchor would fail on every node; proofs wait until that stands. */
  | 'gas_refused'
  /** A node refuses stored bytes; they are offered again. */
  | 'broadcast_refused'
  /** A transaction of ours is mined and is no anchor. */
  | 'attempt_reverted'
  /** An account whose key is not configured has attempts that nobody follows. */
  | 'foreign_attempts_open';

/** Why nothing may be signed now. `first_nonce`: how every new sender begins, so no degradation. */
export type Hold = Degradation | 'first_nonce';

export interface AnchorerDependencies {
  readonly store: AnchorStore;
  readonly chain: AnchorChain;
  readonly key: AnchorKey;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: AnchoringLimits;
  /** For tests that end the process at a step. */
  readonly onStep?: ((step: AnchorStep) => void | Promise<void>) | undefined;
}

/** What every part of the engine works with while the lease is held. */
export interface AnchoringContext extends AnchorerDependencies {
  readonly lease: Lease;
  /** The chain of this database; nothing is read, signed or recorded on another. */
  readonly identity: ChainIdentity;
  /** Aborts when the anchorer stops or loses the lease. */
  readonly signal: AbortSignal;
}
