import type { Hex } from '../../proof/bytes.ts';
import type { CompletionRecord, TaskRecord, Viewer } from './ports.ts';

/* Lists of tasks, and what was handed in for them. Conventions as in ports.ts. */

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

export interface EvidenceRecord {
  task: TaskRecord;
  /** Canonical JSON; null when none was handed in yet, or when it was erased. */
  proof: string | null;
}

export interface BundleRecord extends EvidenceRecord {
  robotName: string;
  /** Where the receipt's transaction was mined, and its signed bytes; null without a receipt. */
  mined: { blockHash: Hex; txIndex: number; rawTx: Hex } | null;
}

export interface EvidenceStore {
  /**
   * Newest first, by creation and then id; the cost does not grow with the account's history. Null where
   * the account has no robot of the filter's id.
   */
  listTasks(
    filter: TaskFilter,
    limit: number,
    after: TimePlace | null,
  ): Promise<TaskListRecord[] | null>;
  /** Null for a task that the viewer may not see. */
  getEvidence(id: string, viewer: Viewer): Promise<EvidenceRecord | null>;
  /** One moment's view of all that a bundle is made of. Null as above. */
  getBundle(id: string, viewer: Viewer): Promise<BundleRecord | null>;
  /**
   * Erases the evidence, which nothing finds any more; hash, leaf and receipt stay, and an anchor under way goes on.
   * On SQLite the files no longer hold it either; PostgreSQL frees its bytes later (store/postgres/evidence.ts).
   * `erased` also when it was erased before; `nothing_stored` when none was handed in yet; `not_found` for a task of
   * another account.
   */
  eraseProof(id: string, wallet: string): Promise<'erased' | 'nothing_stored' | 'not_found'>;
  /**
   * Erases likewise, in one short commit, at most `limit` proofs that were handed in before `before`, oldest
   * first; answers whether there may be more.
   */
  eraseOldProofs(before: number, limit: number): Promise<boolean>;
}
