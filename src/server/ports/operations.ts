// What commands and metrics ask of the store: backlog, senders, invariants.
import type { Hex } from '../../proof/bytes.ts';
import type { OpenAttempt } from './anchoring.ts';

/** Findings of `svc-server check`; an empty list means that every invariant holds. */
export interface CheckStore {
  checkInvariants(): Promise<{ invariant: string; violations: string[] }[]>;
}

/** What is on its way to the chain now; its cost does not grow with history. */
export interface Backlog {
  /** Proofs that wait to be signed. */
  queued: number;
  /** Since when the first of them waits; null when none does. */
  oldestQueuedAt: number | null;
  /** Proofs in transactions that are signed and not settled. */
  submitted: number;
  /** Transactions by the state of their attempt, as far as it may still change. */
  attempts: Record<'signed' | 'submitted' | 'reorged' | 'included', number>;
  /** Since when the oldest transaction without a block waits; null when none does. */
  oldestUnminedAt: number | null;
}

/** An account that may anchor. */
export interface SenderKey {
  chainId: number;
  address: string;
}

/** An account that held a lease here, and what it has under way. */
export interface Sender extends SenderKey {
  /** The nonce after the highest ever committed or recorded as foreign; null when none was. */
  nextNonce: number | null;
  /** As `listOpenAttempts`. */
  openAttempts: OpenAttempt[];
}

/** The operator's side: what a restored database needs, and what gauges show. */
export interface OperationsStore {
  readBacklog(): Promise<Backlog>;
  /** False while the disk has less room than new claims, telemetry and events need. */
  hasRoom(): Promise<boolean>;
  /**
   * Ends every lease and lets no sender take one, old or new, until `liftHold` names it: nothing is signed
   * or followed, completions stay queued, and the chain status says `restored`.
   */
  holdQueue(now: number): Promise<void>;
  /** For senders that were reconciled with the chain; all others stay held. Harmless when nothing is held. */
  liftHold(senders: readonly SenderKey[], now: number): Promise<void>;
  /**
   * Nonces that transactions from elsewhere have used for good: those of `sender` from its next nonce on, without a
   * gap. Its next nonce goes past them.
   */
  recordForeignNonces(
    sender: SenderKey,
    uses: readonly { nonce: number; txHash: Hex }[],
    now: number,
  ): Promise<void>;
  /**
   * Nonces of open attempts that anchors of another service have, by the operator's word. Such an attempt ends as if
   * the transaction were no anchor. Harmless when repeated.
   */
  recordTakenNonces(
    sender: SenderKey,
    uses: readonly { nonce: number; txHash: Hex }[],
    now: number,
  ): Promise<void>;
  /** Every account that ever held a lease here. */
  listSenders(): Promise<Sender[]>;
}
