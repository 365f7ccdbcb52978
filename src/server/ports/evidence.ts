// The store's contract for evidence.
import type { Hex } from '../../proof/bytes.ts';
import type { ChainProof } from '../../proof/chain-proof.ts';
import type { Actor } from './account.ts';
import type { RobotKey } from './identity.ts';
import type { TaskRecord, Viewer } from './tasks.ts';

export interface EvidenceRecord {
  task: TaskRecord;
  /** Canonical JSON; null before the evidence was submitted and after it was erased. */
  proof: string | null;
}

export interface BundleRecord extends EvidenceRecord {
  robotName: string;
  /** Block and signed bytes of the receipt's transaction; null without a receipt. */
  mined: {
    blockHash: Hex;
    txIndex: number;
    rawTx: Hex;
    /** Null until one is stored. */
    chainProof: ChainProof | null;
  } | null;
  /** Null if the robot did not sign the work. */
  signing: {
    key: RobotKey;
    /** The statement of the result, whose hash is in the leaf. */
    result: string;
    /** The first statement that claims the task; null if it was claimed before the robot had a key. */
    claim: string | null;
  } | null;
}

/** The transaction in which a leaf is anchored, and its place in the chain. */
export interface LeafAnchorRecord {
  chainId: number;
  /** All leaves of the transaction in the order of the tree. */
  leaves: readonly Hex[];
  leafIndex: number;
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  txIndex: number;
  /** Checksummed. */
  from: string;
  anchoredAt: number;
  rawTx: Hex;
  /** Null until one is stored. */
  chainProof: ChainProof | null;
}

export interface EvidenceStore {
  /** Null if the viewer may not see the task. */
  getEvidence(id: string, viewer: Viewer): Promise<EvidenceRecord | null>;
  /** All parts of a bundle, read in one snapshot. Null if the viewer may not see the task. */
  getBundle(id: string, viewer: Viewer): Promise<BundleRecord | null>;
  /** `taskId`: null for a free leaf. Null if the leaf is in no block. */
  getLeafAnchor(leaf: Hex, taskId: string | null): Promise<LeafAnchorRecord | null>;
  /**
   * Erases the evidence; afterwards no read returns it. Hash, leaf and receipt stay, and an anchor in progress
   * continues. On SQLite the database files no longer contain it either; PostgreSQL frees its bytes later
   * (store/evidence.ts). `erased`: also if it was erased before. `nothing_stored`: none was submitted yet.
   * `not_found`: the task belongs to another account.
   */
  eraseProof(
    id: string,
    wallet: string,
    by?: Actor,
  ): Promise<'erased' | 'nothing_stored' | 'not_found'>;
  /**
   * Erases, in one short commit, at most `limit` proofs that were submitted before `before`, oldest first. Returns
   * whether there may be more.
   */
  eraseOldProofs(before: number, limit: number): Promise<boolean>;
}
