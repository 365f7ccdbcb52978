// What all stages of anchoring share: dependencies, options, steps and reasons to wait.

import type { BackoffRange } from '../../base/async/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { AnchorChain } from '../../chain/chain.ts';
import type { AnchorKey } from '../../chain/keys/anchor-key.ts';
import { type IdleReading, lesser, type SenderState } from '../../chain/sender-state.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { ServerConfig } from '../config.ts';
import type { AnchorStore, ChainIdentity, ChainProofStore, Lease } from '../ports/anchoring.ts';
import type { AnchoringAccountStore } from '../ports/operations.ts';
import type { QueueLock } from './queue-lock.ts';

/** Pauses of the anchor loop in milliseconds. Tests shorten them. */
export const PAUSES = {
  /** Assumed block time until blocks are seen. */
  blockMs: 1_000,
  /** Minimum interval between two lookups of receipts. */
  pollMs: 50,
  /** Minimum interval between two readings of the sender state. */
  senderStateMs: 1_000,
  /** Minimum interval between two readings of the sender state while nothing is queued, open or not final. */
  idleMs: 60_000,
  /** Before another attempt to replace a transaction, after fees or balance ruled it out or a node refused the fees. */
  bumpAgainMs: 1_000,
  /** Before refused bytes are broadcast again: the reason may pass before the next block. */
  refusedMs: 5_000,
  /**
   * Before another lookup of a mined transaction that is no anchor: the answer changes only if the node lied. Also the
   * longest pause between two lookups of a receipt that is unknown.
   */
  failedLookMs: 5_000,
  /**
   * How long the nonce of a new sender must stay unchanged when no second block appears. Longer than the block time of
   * any chain that produces blocks on a schedule.
   */
  firstNonceMs: 15_000,
  /** Between two lookups of final anchors without a chain proof. */
  chainProofsMs: 5_000,
  /** Until a failed chain proof is built again, at first: longer than any build, so that no two instances build it. */
  chainProofRetryMs: 60_000,
};

export type AnchoringPauses = Readonly<typeof PAUSES>;

/** The configuration of anchoring, and what only tests change. */
export type AnchoringLimits = Readonly<
  ServerConfig['anchoring'] & {
    leaseTtlMs: number;
    /** Leaves that one commit moves at most, so that it does not hold the event loop. */
    leavesPerCommit: number;
    pauses: AnchoringPauses;
  }
>;

/**
 * The boundaries between durable steps, in the order in which an anchor passes them. A crash at any of them must be
 * harmless. Names ending in `_signed`, `_sent` and `_found` mark the moment before the commit that records the step.
 */
export type AnchorStep =
  | 'attempt_signed'
  | 'leaves_assigned'
  | 'attempt_committed'
  | 'broadcast_sent'
  | 'broadcast_recorded'
  | 'inclusion_found'
  | 'inclusion_recorded'
  | 'leaves_settled'
  | 'leaves_returned'
  | 'variant_signed'
  | 'variant_committed'
  | 'inclusion_changed'
  | 'inclusion_change_recorded'
  | 'replaced_nonce_found'
  | 'replaced_nonce_recorded'
  | 'chain_proof_built'
  | 'chain_proof_recorded';

/** Why anchoring is degraded. Kept in the store for `/readyz`. */
export type Degradation =
  | 'chain_unreachable'
  | 'chain_mismatch'
  | 'chain_unsupported'
  | 'underfunded'
  | 'fee_cap'
  /** An anchor needs more gas than may be signed. */
  | 'gas_cap'
  /** The anchors signed in the last hour may cost as much as is allowed. */
  | 'spend_cap'
  /** Fees are above ten times the median of the last hour. Anchoring goes on. */
  | 'fee_jump'
  | 'sender_has_code'
  /** Before the first nonce is taken, the node's pool still holds transactions of the sender. */
  | 'sender_busy'
  | 'nonce_conflict'
  /** The chain reports fewer transactions of the sender than we saw mined. */
  | 'nonce_behind'
  /** An error that does not come from the chain. It is logged and retried. */
  | 'anchoring_failing'
  /** The node says that an anchor would fail on every node. Proofs wait until the refusal is confirmed. */
  | 'gas_refused'
  /** A node refuses stored bytes; they are sent again. */
  | 'broadcast_refused'
  /** A transaction of ours is mined but is no anchor. */
  | 'attempt_reverted'
  /** A transaction of an account without a configured key needs a fee bump, which needs the key. */
  | 'unconfigured_sender'
  /** An RPC URL does not respond correctly. */
  | 'provider_unhealthy'
  /** An RPC URL serves another chain. */
  | 'provider_wrong_chain';

/** Why signing is paused. `first_nonce` is normal for a new sender, so it is no degradation. */
export type Hold = Degradation | 'first_nonce';

export interface AnchorerDependencies {
  readonly store: AnchorStore & AnchoringAccountStore & ChainProofStore;
  readonly chain: AnchorChain;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly options: AnchoringLimits;
  /** The public URL of the service, for the list of anchoring accounts. */
  readonly origin: string;
  /** For tests that crash the process at a step. */
  readonly onStep?: ((step: AnchorStep) => void | Promise<void>) | undefined;
}

/** The dependencies of one account's loop. */
export interface AccountLoopDependencies extends AnchorerDependencies {
  /** Checksummed. */
  readonly address: string;
  /** Null for an account that was used before: its attempts are followed, and nothing is signed. */
  readonly key: AnchorKey | null;
  readonly queueLock: QueueLock;
  readonly idle: IdleTurns;
  /** Called when chain and funds of the account were checked, or cannot be now. May be called again. */
  readonly onChecked: () => void;
}

/** Shared by the account loops of a process, so that they never read more often than one idle loop alone. */
export interface IdleTurns {
  readonly accounts: number;
  /** Before this time (`performance.now()`) an idle loop does not read the chain. */
  freeAt: number;
}

/** The context of every anchoring stage while the lease is held. */
export interface AnchoringContext extends AccountLoopDependencies {
  readonly lease: Lease;
  /** The chain of this database. Nothing is read, signed or recorded on any other. */
  readonly identity: ChainIdentity;
  /** Aborts when the anchorer stops or loses the lease. */
  readonly signal: AbortSignal;
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof SvcError && error.code === 'lease_lost';
}

export const RETRY: BackoffRange = { firstMs: 50, maxMs: 2_000 };

/** Reads the state that a payload is signed by. The tip is capped. */
export async function readSenderState(
  { chain, identity, lease, options, signal }: AnchoringContext,
  payload: Hex,
  idle: IdleReading | null = null,
): Promise<SenderState> {
  const subject = { identity, sender: lease.sender, payload, idle };
  const state = await chain.senderState(subject, signal);
  const tip = lesser(state.maxPriorityFeePerGas, options.maxPriorityFeePerGas);
  return { ...state, maxPriorityFeePerGas: tip };
}
