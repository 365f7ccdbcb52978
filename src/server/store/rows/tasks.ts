// Converts rows of tasks, completions, receipts and the task list.

import type { Hex } from '../../../proof/bytes.ts';
import type { Finality } from '../../../protocol/resources.ts';
import type { AttemptState } from '../../ports/anchoring.ts';
import type {
  CompletionRecord,
  CompletionState,
  NewTask,
  ReceiptRecord,
  TaskListRecord,
  TaskRecord,
} from '../../ports/tasks.ts';

export interface TaskRow {
  id: string;
  robot_id: string;
  wallet: string;
  title: string;
  description: string | null;
  expected_result: string | null;
  occurred_at: string | null;
  created_at: number;
  status: 'claimed' | 'verified';
}

export interface CompletionRow {
  state: CompletionState;
  proof_hash: Hex;
  claim_hash: Hex;
  leaf: Hex;
  attempts: number;
  tx_hash: Hex | null;
  updated_at: number;
}

export interface ReceiptRow {
  leaf_index: number;
  path: string;
  attempt_state: AttemptState;
  safe: 0 | 1 | boolean;
  chain_id: number;
  sender: string;
  root: Hex | null;
  leaf_count: number;
  mined_tx_hash: Hex;
  mined_block_number: number;
  mined_at: number;
}

export function toTask(row: TaskRow, completion: CompletionRecord | null): TaskRecord {
  return {
    id: row.id,
    robotId: row.robot_id,
    wallet: row.wallet,
    title: row.title,
    description: row.description,
    expectedResult: row.expected_result,
    occurredAt: row.occurred_at,
    createdAt: row.created_at,
    status: row.status,
    completion,
  };
}

export function toCompletion(row: CompletionRow, receipt: ReceiptRecord | null): CompletionRecord {
  return {
    state: row.state,
    proofHash: row.proof_hash,
    claimHash: row.claim_hash,
    leaf: row.leaf,
    attempts: row.attempts,
    txHash: row.tx_hash,
    updatedAt: row.updated_at,
    receipt,
  };
}

export function toReceipt(row: ReceiptRow): ReceiptRecord {
  return {
    chainId: row.chain_id,
    txHash: row.mined_tx_hash,
    from: row.sender,
    blockNumber: BigInt(row.mined_block_number),
    anchoredAt: row.mined_at,
    inclusion:
      row.root === null
        ? null
        : {
            root: row.root,
            leaf_index: row.leaf_index,
            leaf_count: row.leaf_count,
            path: JSON.parse(row.path),
          },
    finality: finalityOf(row),
  };
}

/** The task as its claim stores it. A literal instead of a spread: docs/performance.md, "Objects that gain members". */
export function claimedTask(task: NewTask, wallet: string): TaskRecord {
  return {
    id: task.id,
    robotId: task.robotId,
    wallet,
    title: task.title,
    description: task.description,
    expectedResult: task.expectedResult,
    occurredAt: task.occurredAt,
    createdAt: task.createdAt,
    status: 'claimed',
    completion: null,
  };
}

/** Compares the documents as text: they are canonical JSON, so equal content is equal text. */
export function isSameClaim(stored: TaskRecord, task: NewTask): boolean {
  return (
    stored.robotId === task.robotId &&
    stored.title === task.title &&
    stored.description === task.description &&
    stored.expectedResult === task.expectedResult &&
    stored.occurredAt === task.occurredAt
  );
}

export interface TaskListRow {
  id: string;
  robot_id: string;
  title: string;
  description: string | null;
  occurred_at: string | null;
  created_at: number;
  status: 'claimed' | 'verified';
  state: CompletionState | null;
  proof_hash: Hex;
  updated_at: number;
  attempts: number;
  chain_id: number | null;
  tx_hash: Hex | null;
}

export function toListedTask(row: TaskListRow): TaskListRecord {
  return {
    id: row.id,
    robotId: row.robot_id,
    title: row.title,
    description: row.description,
    occurredAt: row.occurred_at,
    createdAt: row.created_at,
    status: row.status,
    progress:
      row.state === null
        ? null
        : {
            state: row.state,
            proofHash: row.proof_hash,
            attempts: row.attempts,
            txHash: row.tx_hash,
            updatedAt: row.updated_at,
            chainId: row.chain_id,
          },
  };
}

/** The attempt of a receipt was mined. In any state but `included` and `finalized` it was reorganized out. */
function finalityOf({ attempt_state: state, safe }: ReceiptRow): Finality {
  if (state === 'finalized') return 'finalized';
  if (state !== 'included') return 'reorged';
  return safe ? 'safe' : 'included';
}
