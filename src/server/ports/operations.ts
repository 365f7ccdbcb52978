// The store's contract with commands, metrics and upkeep: backlog, senders, invariants, retention, anchoring accounts.
import type { Hex } from '../../proof/bytes.ts';
import type { PublicKey } from '../../proof/statements/public-key.ts';
import type { Actor } from './account.ts';
import type { Lease, OpenAttempt, SenderKey } from './anchoring.ts';

/** The findings of `svc-server check`. An empty list of violations means that the invariant holds. */
export interface CheckStore {
  checkInvariants(): Promise<{ invariant: string; violations: string[] }[]>;
}

/** The work that is on its way to the chain now. The cost of reading it does not grow with history. */
export interface Backlog {
  /** Proofs waiting to be signed. */
  queued: number;
  /** When the oldest queued proof was queued; null if none is. */
  oldestQueuedAt: number | null;
  /** Proofs in transactions that are signed but not settled. */
  submitted: number;
  /** Transactions by the state of their attempt, for states that may still change. */
  attempts: Record<'signed' | 'submitted' | 'reorged' | 'included', number>;
  /** When the oldest transaction that is in no block was created; null if there is none. */
  oldestUnminedAt: number | null;
}

/** An account that held a lease in this database, and its work in progress. */
export interface Sender extends SenderKey {
  /** The nonce after the highest ever committed or recorded as foreign; null if there is none. */
  nextNonce: number | null;
  /** As `listOpenAttempts`. */
  openAttempts: OpenAttempt[];
}

/** The store's operations for operators: recovery of a restored database, and values for gauges. */
export interface OperationsStore {
  readBacklog(): Promise<Backlog>;
  /** False while the disk has less room than new claims, telemetry and events need. */
  hasRoom(): Promise<boolean>;
  /**
   * Ends every lease, and refuses a lease to every sender, known or new, until `liftHold` names it. Nothing is signed
   * or followed, completions stay queued, and the chain status reports `restored`.
   */
  holdQueue(now: number): Promise<void>;
  /**
   * Lifts the hold for senders that were reconciled with the chain; all others stay held. Does nothing if nothing is
   * held.
   */
  liftHold(senders: readonly SenderKey[], now: number): Promise<void>;
  /**
   * Records nonces that foreign transactions, which this service did not sign, have used permanently. They start at the
   * next nonce of `sender` and have no gap. Its next nonce moves past them.
   */
  recordForeignNonces(
    sender: SenderKey,
    uses: readonly { nonce: number; txHash: Hex }[],
    now: number,
  ): Promise<void>;
  /**
   * Records nonces of open attempts that were used by anchors of another service, as stated by the operator. Such an
   * attempt ends as if the transaction were not an anchor. Idempotent. The audit log of each account that has a proof
   * in such an attempt gets an entry.
   */
  recordTakenNonces(
    sender: SenderKey,
    uses: readonly { nonce: number; txHash: Hex }[],
    now: number,
    by?: Actor,
  ): Promise<void>;
  /** Every account that ever held a lease in this database. */
  listSenders(): Promise<Sender[]>;
}

export interface NewAnchoringAccount extends SenderKey {
  /** The newest block when the account was first used. */
  firstBlock: bigint;
  /** The account's signature of its entry, and the public URL of the service in it; null if the key was not available. */
  signature: Hex | null;
  origin: string | null;
  /** The key that signs promises while the account is in use; null if the account's key was never available. */
  promiseKey: PublicKey | null;
}

export interface AnchoringAccount extends NewAnchoringAccount {
  /** The block of its last anchor; null until it is retired. */
  lastBlock: bigint | null;
  /** A foreign transaction used a nonce above those of its final anchors, so its last block is not known here. */
  endsElsewhere: boolean;
  /** Sequence number of the list that added or retired the account. Each list has a number of its own. */
  changedIn: number;
}

export interface AnchoringAccountStore {
  /** Every account, by first block. */
  listAnchoringAccounts(): Promise<AnchoringAccount[]>;
  /** Adds the account, or to a listed one that is in use the key for promises that it lacks. */
  addAnchoringAccount(account: NewAnchoringAccount): Promise<void>;
  /**
   * Sets the last block of the lease's sender to that of its last final anchor, or to the first block, but never below
   * `atLeast`. A retired account stays as it is.
   */
  retireAnchoringAccount(lease: Lease, atLeast?: bigint): Promise<void>;
}

/**
 * Deletes old data in small steps. Each step is a short commit of its own and deletes at least one row, if there is
 * one. Hourly and daily roll-ups stay.
 */
export interface RetentionStore {
  /**
   * Deletes at most `limit` samples recorded before `before`, from the next robot after `cursor` that has any. Also
   * deletes the robot's minute roll-ups before its oldest remaining sample. Returns the cursor of the next step; null
   * when done.
   */
  deleteSamples(before: number, limit: number, cursor: string | null): Promise<string | null>;
  /**
   * Deletes at most `limit` of the oldest events that the service received before `before`. Returns whether there may
   * be more.
   */
  deleteEvents(before: number, limit: number): Promise<boolean>;
  /** The next wallet after `after` whose deleted robots left samples, roll-ups or events; null at the end. */
  nextWithTraces(after: string): Promise<string | null>;
  /** Deletes at most `limit` of these rows of one robot of the wallet. Returns whether there may be more. */
  deleteTraces(wallet: string, limit: number): Promise<boolean>;
}
