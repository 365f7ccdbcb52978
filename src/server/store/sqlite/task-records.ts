import type { Database } from 'better-sqlite3';
import type { Hex } from '../../../proof/bytes.ts';
import type { Finality } from '../../../protocol/resources.ts';
import type { AttemptState } from '../../core/anchor-store.ts';
import type {
  CompletionRecord,
  CompletionState,
  ReceiptRecord,
  TaskRecord,
  Viewer,
} from '../../core/ports.ts';

interface TaskRow {
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

interface CompletionRow {
  state: CompletionState;
  proof_hash: Hex;
  claim_hash: Hex;
  leaf: Hex;
  attempts: number;
  tx_hash: Hex | null;
  updated_at: number;
}

interface ReceiptRow {
  leaf_index: number;
  path: string;
  attempt_state: AttemptState;
  safe: 0 | 1;
  chain_id: number;
  sender: string;
  root: Hex | null;
  leaf_count: number;
  mined_tx_hash: Hex;
  mined_block_number: number;
  mined_at: number;
}

/**
 * How a completion stands and since when, over the task `t`, its completion `c` and its live attempt `a`. A
 * verified task's follows its attempt, and is `reorged` while it has none that is in a block and settled.
 */
export const COMPLETION_STATE = `CASE
    WHEN t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  iif(c.state = 'included', max(c.updated_at, a.updated_at), c.updated_at) AS updated_at`;

/** Reads a whole task on the given connection. */
export function taskReader(db: Database): (id: string) => TaskRecord | null {
  const task = db.prepare<[string], TaskRow>(
    `SELECT id, robot_id, wallet, title, description, expected_result, occurred_at, created_at, status
     FROM tasks WHERE id = ?`,
  );
  const completion = db.prepare<[string], CompletionRow>(
    `SELECT ${COMPLETION_STATE}, c.proof_hash, c.claim_hash, c.leaf,
       (SELECT count(*) FROM leaves WHERE task_id = c.task_id) AS attempts,
       coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                                  ORDER BY v.seq DESC LIMIT 1)) AS tx_hash
     FROM completions c JOIN tasks t ON t.id = c.task_id
     LEFT JOIN leaves l ON l.task_id = c.task_id AND l.live = 1
     LEFT JOIN attempts a ON a.id = l.attempt_id
     WHERE c.task_id = ?`,
  );
  const receipt = db.prepare<[string], ReceiptRow>(
    `SELECT r.leaf_index, l.path, a.state AS attempt_state, a.safe, a.chain_id, a.sender, a.root,
       a.leaf_count, a.mined_tx_hash, a.mined_block_number, a.mined_at
     FROM receipts r
     JOIN attempts a ON a.id = r.attempt_id
     JOIN leaves l ON l.attempt_id = r.attempt_id AND l.leaf_index = r.leaf_index
     WHERE r.task_id = ?`,
  );
  return (id) => {
    const row = task.get(id);
    if (row === undefined) return null;
    const completed = completion.get(id);
    return toTask(
      row,
      completed === undefined ? null : toCompletion(completed, toReceipt(receipt.get(id))),
    );
  };
}

/** A robot sees its own tasks, an account those of all its robots. */
export function isVisibleTo(task: TaskRecord, viewer: Viewer): boolean {
  return 'robotId' in viewer ? task.robotId === viewer.robotId : task.wallet === viewer.wallet;
}

function toTask(row: TaskRow, completion: CompletionRecord | null): TaskRecord {
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

function toCompletion(row: CompletionRow, receipt: ReceiptRecord | null): CompletionRecord {
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

function toReceipt(row: ReceiptRow | undefined): ReceiptRecord | null {
  if (row === undefined) return null;
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

/** A receipt's attempt was mined once; in any other state its place is not on the chain now. */
function finalityOf({ attempt_state: state, safe }: ReceiptRow): Finality {
  if (state === 'finalized') return 'finalized';
  if (state !== 'included') return 'reorged';
  return safe === 1 ? 'safe' : 'included';
}
