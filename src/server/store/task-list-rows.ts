import type { Hex } from '../../proof/bytes.ts';
import type { TaskListRecord } from '../core/evidence-store.ts';
import type { CompletionState } from '../core/ports.ts';

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
