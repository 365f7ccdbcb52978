import type { Hex } from '../../proof/bytes.ts';
import type { QueuedProof } from '../core/anchor-store.ts';

export interface QueuedRow {
  task_id: string;
  proof_hash: Hex;
  leaf: Hex;
  generation: number;
  queued_at: number;
}

export const QUEUED_COLUMNS = 'task_id, proof_hash, leaf, generation, queued_at';

export function toQueuedProof(row: QueuedRow): QueuedProof {
  return {
    taskId: row.task_id,
    proofHash: row.proof_hash,
    leaf: row.leaf,
    generation: row.generation,
    queuedAt: row.queued_at,
  };
}
