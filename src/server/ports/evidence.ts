// What the use cases ask of the store about evidence.
import type { Hex } from '../../proof/bytes.ts';
import type { TaskRecord, Viewer } from './tasks.ts';

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
  /** Null for a task that the viewer may not see. */
  getEvidence(id: string, viewer: Viewer): Promise<EvidenceRecord | null>;
  /** One moment's view of all that a bundle is made of. Null for a task that the viewer may not see. */
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
