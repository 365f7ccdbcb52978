import type { ChainFacts } from '../../proof/audit-anchor.ts';
import type { Hex } from '../../proof/bytes.ts';
import type { Finality, Inclusion } from '../../protocol/resources.ts';
import type { AccountStore } from './account-store.ts';
import type { AnchorStore } from './anchor-store.ts';
import type { EvidenceStore } from './evidence-store.ts';
import type { FleetStore } from './fleet-store.ts';
import type { OperationsStore } from './operations-store.ts';
import type { RobotStore } from './robot-store.ts';
import type { EventStore, RetentionStore, StatsStore, TelemetryStore } from './telemetry-store.ts';

/**
 * The promises between the use cases and what carries them out. The store is the only thing between
 * the HTTP half and the chain half.
 *
 * Conventions: every instant is milliseconds since the epoch (UTC); every amount is wei as bigint;
 * wallets are EIP-55 checksummed; ids are lower-case UUIDs; hashes are 0x-prefixed lower-case hex.
 *
 * Every promise of a write resolves only after the write is durable. It rejects with SvcError
 * `storage_unavailable` when the outcome is unknown; the caller MUST then not claim success.
 * A result named by `outcome` says what was decided; nothing was written unless its docs say so.
 */

/** A call measured against a fixed window. A refused call consumes nothing. */
export interface RateCount {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window ends, 1 to 60 000. */
  resetMs: number;
}

export interface Challenge {
  /** 128 random bits in hex; the nonce of the message and the value of the challenge cookie. */
  nonce: string;
  wallet: string;
  /** The exact text that is signed. */
  message: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewSession {
  id: string;
  /** SHA-256 of the session token, hex. The token itself is never stored. */
  tokenHash: string;
  createdAt: number;
  expiresAt: number;
}

export interface SignIn {
  nonce: string;
  wallet: string;
  session: NewSession;
  /** What a new account starts with, or null where this wallet may not open one. */
  signup: { anchors: number; gasWei: bigint } | null;
  now: number;
}

export interface SessionRecord {
  id: string;
  wallet: string;
  createdAt: number;
  expiresAt: number;
}

export interface SignInStore {
  /** Counts one challenge request of the wallet. */
  countChallenge(wallet: string): Promise<RateCount>;
  /** Makes the challenge findable; forgets expired ones, and the oldest beyond the limit of open ones. */
  saveChallenge(challenge: Challenge): Promise<void>;
  /** Only challenges that have not expired at `now`. Newest first. */
  openChallenges(
    by: { nonce: string; wallet: string } | { wallet: string; limit: number },
    now: number,
  ): Promise<Challenge[]>;
  /**
   * Spends the challenge, opens the account if it is new (with its grant in the ledger) and the
   * session, and ends the account's oldest session beyond its limit, in one commit. `challenge_spent`: the challenge was used, expired or is another
   * wallet's. `signup_refused`: a new account, and `signup` is null; the challenge stays open.
   */
  signIn(signIn: SignIn): Promise<'signed_in' | 'challenge_spent' | 'signup_refused'>;
  /** The live session of that token, or null; `counted` also measures one mutation of its account. */
  authenticateSession(
    tokenHash: string,
    counted: boolean,
    now: number,
  ): Promise<{ session: SessionRecord; count: RateCount } | null>;
  /** Ends the session at once. Harmless when there is none. */
  revokeSession(tokenHash: string): Promise<void>;
}

export interface NewTask {
  id: string;
  robotId: string;
  /** Of the key that the call came with; see `RobotCaller`. */
  keyHash: string;
  title: string;
  description: string | null;
  /** Canonical JSON of an object. */
  expectedResult: string | null;
  /** As the robot gave it. */
  occurredAt: string | null;
  createdAt: number;
  /** From the caller: an id that repeats with the same content answers the stored task. */
  idGiven: boolean;
}

export interface TaskRecord {
  id: string;
  robotId: string;
  wallet: string;
  title: string;
  description: string | null;
  expectedResult: string | null;
  occurredAt: string | null;
  createdAt: number;
  status: 'claimed' | 'verified';
  /** Null until the first completion. */
  completion: CompletionRecord | null;
}

/** The states of a completion, as stored; docs/anchoring.md has their meaning. */
export type CompletionState =
  | 'queued'
  | 'submitted'
  | 'included'
  | 'finalized'
  | 'reorged'
  | 'failed';

export interface CompletionRecord {
  state: CompletionState;
  proofHash: Hex;
  claimHash: Hex;
  leaf: Hex;
  /** How many transactions were signed for this proof, fee variants of one nonce not counted. */
  attempts: number;
  /** Newest variant of the live attempt, the mined one once there is one. */
  txHash: Hex | null;
  updatedAt: number;
  /** Null until the task is verified; from then on never null again. */
  receipt: ReceiptRecord | null;
}

export interface ReceiptRecord {
  chainId: number;
  txHash: Hex;
  from: string;
  blockNumber: bigint;
  /** Time of the block. */
  anchoredAt: number;
  inclusion: Inclusion | null;
  finality: Finality;
}

/** Who asks. A robot sees its own tasks, an account those of all its robots. */
export type Viewer = { robotId: string } | { wallet: string };

export interface NewCompletion {
  taskId: string;
  robotId: string;
  /** Of the key that the call came with; see `RobotCaller`. */
  keyHash: string;
  /** Canonical JSON of the evidence. */
  proof: string;
  proofHash: Hex;
  claimHash: Hex;
  leaf: Hex;
  now: number;
}

export type QueueOutcome =
  | { outcome: 'queued' }
  | { outcome: 'already_completed' | 'completion_in_progress'; task: TaskRecord }
  | {
      outcome:
        | 'not_found'
        | 'robot_gone'
        | 'no_anchor_quota'
        | 'no_gas_credit'
        /** The chain was never reached, so the reservation cannot be computed. */
        | 'no_fee_quote';
    };

export interface PublicAnchor {
  task: TaskRecord;
  robotName: string;
  /** How many tasks carry this proof hash. */
  occurrences: number;
}

export interface TaskStore {
  /**
   * `repeated`: the id exists with the same robot and content, and nothing was written.
   * `id_conflict`: it exists otherwise, with no word about whose. `robot_gone`: the robot or this
   * very key ended since it was authenticated.
   */
  createTask(
    task: NewTask,
  ): Promise<
    | { outcome: 'created' | 'repeated'; task: TaskRecord }
    | { outcome: 'id_conflict' | 'robot_gone' }
  >;
  getTask(id: string, viewer: Viewer): Promise<TaskRecord | null>;
  /**
   * Step 1 of anchoring: stores the proof, reserves one anchor and the gas of a single
   * (`reservation` in core/money.ts, from the last fee quote), writes the ledger, queues the leaf;
   * one commit. A completion that failed before is tried again under the next cycle.
   * Checks in the order: key (`robot_gone`), task, state, anchor quota, gas credit.
   */
  queueCompletion(completion: NewCompletion): Promise<QueueOutcome>;
  /**
   * Resolves when the completion is included, finalized or failed, when the task is gone, or when
   * the signal aborts (it does not reject for that). A wake-up is only a hint: read the task after.
   */
  waitForCompletion(taskId: string, signal: AbortSignal): Promise<void>;
  /** Among the tasks with this hash: the named one, else the first anchored, else the first queued. */
  findPublicAnchor(proofHash: Hex, taskId: string | null): Promise<PublicAnchor | null>;
  /** Whether an anchorer of this service signed the transaction. */
  hasAnchorTransaction(txHash: Hex): Promise<boolean>;
}

export interface Balance {
  wallet: string;
  anchorQuota: number;
  gasCreditWei: bigint;
}

export interface Grant {
  /** Makes a repeated grant harmless. */
  id: string;
  wallet: string;
  anchors: number;
  gasWei: bigint;
  note: string;
  now: number;
}

export interface CreditStore {
  /** `repeated`: a grant of this id was made before and nothing was written. Opens the account if needed. */
  grantCredits(grant: Grant): Promise<{ outcome: 'granted' | 'repeated'; balance: Balance }>;
  getBalance(wallet: string): Promise<Balance | null>;
}

/** Findings of `svc-server check`; an empty list means that every invariant holds. */
export interface CheckStore {
  checkInvariants(): Promise<{ invariant: string; violations: string[] }[]>;
}

export interface Store
  extends SignInStore,
    RobotStore,
    FleetStore,
    TaskStore,
    EvidenceStore,
    AccountStore,
    TelemetryStore,
    EventStore,
    StatsStore,
    RetentionStore,
    CreditStore,
    AnchorStore,
    OperationsStore,
    CheckStore {
  /** Rejects with `storage_unavailable` when a write would not become durable now. */
  probe(): Promise<void>;
  /** Finishes writes under way, saves counters, releases files. Later calls reject. */
  close(): Promise<void>;
}

/** What the use cases read from the chain. Reads reject with `chain_unavailable` when it cannot be read. */
export interface Chain {
  /** Null unless the text is an address (any case; a mixed-case one needs no valid checksum). */
  checksumAddress(text: string): string | null;
  /** Local recovery of a 65-byte personal_sign signature, low s only; null when it is not one. */
  recoverWallet(message: string, signature: Hex): Promise<string | null>;
  /** ERC-1271 and ERC-6492, made only where code or the 6492 suffix is there. */
  isContractSignature(wallet: string, message: string, signature: Hex): Promise<boolean>;
  /** ERC-20 balance in the token's smallest unit. */
  tokenBalance(token: string, wallet: string): Promise<bigint>;
  /** What the chain holds of a transaction, in a read that begins after the call. */
  readAnchor(txHash: Hex): Promise<{
    facts: ChainFacts;
    confirmations: bigint | null;
    finality: Exclude<Finality, 'reorged'> | null;
  }>;
  /** Number of the newest block. */
  headNumber(): Promise<bigint>;
}
