// The store's contract for tasks.
import type { Hex } from '../../proof/bytes.ts';
import type { AnchorState, Finality, Inclusion, TaskOutcome } from '../../protocol/resources.ts';

export interface NewTask
  extends Omit<TaskRecord, 'wallet' | 'status' | 'creditRefusedAt' | 'completion'> {
  /** SHA-256 of the API key of the call; see `RobotCaller`. */
  keyHash: string;
  /** The caller chose the id: repeating it with the same content returns the stored task. */
  idGiven: boolean;
  /** The claim has a valid statement. */
  isSigned: boolean;
}

export interface TaskRecord {
  id: string;
  robotId: string;
  wallet: string;
  title: string;
  description: string | null;
  /** Canonical JSON of an object. */
  expectedResult: string | null;
  /** The time stated by the robot, unchanged. */
  occurredAt: string | null;
  createdAt: number;
  status: 'claimed' | 'verified';
  /** First completion that was refused for lack of credit. */
  creditRefusedAt: number | null;
  /** Null until the first completion. */
  completion: CompletionRecord | null;
}

/** The states of a completion; docs/anchoring.md explains them. */
export type CompletionState = AnchorState;

export interface CompletionRecord {
  state: CompletionState;
  proofHash: Hex;
  claimHash: Hex;
  leaf: Hex;
  /** Of the statement in the leaf; null without one. */
  statementHash: Hex | null;
  outcome: TaskOutcome | null;
  /** Number of transactions signed for this proof, not counting fee variants of one nonce. */
  attempts: number;
  /** The live attempt's mined variant, or its newest one if none is mined. */
  txHash: Hex | null;
  queuedAt: number;
  updatedAt: number;
  /** Null until the task is verified; never null again after that. */
  receipt: ReceiptRecord | null;
}

export interface ReceiptRecord {
  chainId: number;
  txHash: Hex;
  from: string;
  blockNumber: bigint;
  /** Block time. */
  anchoredAt: number;
  inclusion: Inclusion | null;
  finality: Finality;
}

/** The caller on whose behalf a task is read. A robot sees its own tasks, an account those of all its robots. */
export type Viewer = { robotId: string; wallet?: string } | { robotId?: never; wallet: string };

export interface PublicAnchor {
  task: TaskRecord;
  robotName: string;
  /** Number of tasks with this proof hash. */
  occurrences: number;
  /** Block, place and calldata of the receipt's transaction, if it is final and its chain proof is stored. */
  proven: { blockHash: Hex; txIndex: number; rawTx: Hex } | null;
}

export interface TaskStore {
  /**
   * Creates a task. `repeated`: the id exists with the same robot and content, and nothing was written. `id_conflict`:
   * the id exists otherwise; it does not say whose it is. `key_revoked`: the robot or this key has ended since it was
   * authenticated. `statement_required`: the robot signs its work, and the claim has no statement.
   */
  createTask(
    task: NewTask,
  ): Promise<
    | { outcome: 'created' | 'repeated'; task: TaskRecord }
    | { outcome: 'id_conflict' | 'key_revoked' | 'statement_required' }
  >;
  getTask(id: string, viewer: Viewer): Promise<TaskRecord | null>;
  /** Those that exist, in any order. */
  getTasks(ids: readonly string[], viewer: Viewer): Promise<TaskRecord[]>;
  /**
   * Newest first, by creation time and then id. The cost does not grow with the account's history. Null if the account
   * has no robot with the filter's id.
   */
  listTasks(
    filter: TaskFilter,
    limit: number,
    after: TimePlace | null,
  ): Promise<TaskListRecord[] | null>;
  /** Proofs in no block yet among the newest `limit` claimed tasks of the account, and when the first was queued. */
  countWaiting(wallet: string, limit: number): Promise<{ proofs: number; since: number | null }>;
  /** The task with this hash: the named one, else the first anchored, else the first queued. */
  findPublicAnchor(proofHash: Hex, taskId: string | null): Promise<PublicAnchor | null>;
  /** Whether this service signed the transaction. */
  hasAnchorTransaction(txHash: Hex): Promise<boolean>;
}

/** Where a list continues: after the item with this instant and id. */
export interface TimePlace {
  at: number;
  id: string;
}

export interface TaskFilter {
  wallet: string;
  /** Null for both. */
  status: 'claimed' | 'verified' | null;
  /** Null for all robots of the account. */
  robotId: string | null;
}

/** The progress of a completion, without the fields that only the view of a single task needs. */
export interface AnchorProgress
  extends Pick<
    CompletionRecord,
    'state' | 'proofHash' | 'attempts' | 'txHash' | 'queuedAt' | 'updatedAt' | 'outcome'
  > {
  /** Chain of the transaction; null while there is none. */
  chainId: number | null;
}

export interface TaskListRecord
  extends Omit<TaskRecord, 'wallet' | 'expectedResult' | 'completion'> {
  progress: AnchorProgress | null;
}
