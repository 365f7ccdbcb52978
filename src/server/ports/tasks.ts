// What the use cases ask of the store about tasks.
import type { Hex } from '../../proof/bytes.ts';
import type { Finality, Inclusion } from '../../protocol/resources.ts';

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

export interface PublicAnchor {
  task: TaskRecord;
  robotName: string;
  /** How many tasks carry this proof hash. */
  occurrences: number;
}

export interface TaskStore {
  /**
   * `repeated`: the id exists with the same robot and content, and nothing was written.
   * `id_conflict`: it exists otherwise, with no word about whose. `key_revoked`: the robot or this
   * very key ended since it was authenticated.
   */
  createTask(
    task: NewTask,
  ): Promise<
    | { outcome: 'created' | 'repeated'; task: TaskRecord }
    | { outcome: 'id_conflict' | 'key_revoked' }
  >;
  getTask(id: string, viewer: Viewer): Promise<TaskRecord | null>;
  /**
   * Newest first, by creation and then id; the cost does not grow with the account's history. Null where
   * the account has no robot of the filter's id.
   */
  listTasks(
    filter: TaskFilter,
    limit: number,
    after: TimePlace | null,
  ): Promise<TaskListRecord[] | null>;
  /** Among the tasks with this hash: the named one, else the first anchored, else the first queued. */
  findPublicAnchor(proofHash: Hex, taskId: string | null): Promise<PublicAnchor | null>;
  /** Whether an anchorer of this service signed the transaction. */
  hasAnchorTransaction(txHash: Hex): Promise<boolean>;
}

/** Where a list goes on: after the item of this instant and id. */
export interface TimePlace {
  at: number;
  id: string;
}

export interface TaskFilter {
  wallet: string;
  /** Null for both. */
  status: 'claimed' | 'verified' | null;
  /** Null for all of the account's. */
  robotId: string | null;
}

/** How far a completion has come, without what only a single task's reader needs. */
export interface AnchorProgress
  extends Pick<CompletionRecord, 'state' | 'proofHash' | 'attempts' | 'txHash' | 'updatedAt'> {
  /** Of the transaction; null while there is none. */
  chainId: number | null;
}

export interface TaskListRecord
  extends Pick<
    TaskRecord,
    'id' | 'robotId' | 'title' | 'description' | 'occurredAt' | 'createdAt' | 'status'
  > {
  progress: AnchorProgress | null;
}
