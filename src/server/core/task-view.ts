import type { JsonObject } from '../../proof/json-value.ts';
import type {
  Anchor,
  Inclusion,
  Task,
  TaskDetail,
  Verification,
} from '../../protocol/resources.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import { explorerUrlOf } from './chain-details.ts';
import type { Network } from './deps.ts';
import type { CompletionRecord, ReceiptRecord, TaskRecord } from './ports.ts';

export function viewTask(task: TaskRecord): Task {
  return {
    id: task.id,
    title: task.title,
    description: task.description,
    status: task.status,
    created_at: formatTimestamp(task.createdAt),
  };
}

export function viewTaskDetail(task: TaskRecord): TaskDetail {
  return {
    ...viewTask(task),
    expected_result: expectedResultOf(task),
    occurred_at: task.occurredAt,
    robot_id: task.robotId,
  };
}

/** The members that the claim hash is made of. */
export function claimOf(task: TaskRecord) {
  return {
    created_at: formatTimestamp(task.createdAt),
    description: task.description,
    expected_result: expectedResultOf(task),
    occurred_at: task.occurredAt,
    title: task.title,
  };
}

function expectedResultOf(task: TaskRecord): JsonObject | null {
  return task.expectedResult === null ? null : JSON.parse(task.expectedResult);
}

/** `network` is the anchoring one; it is not needed while there is no transaction. */
export function viewAnchor(
  completion: Pick<CompletionRecord, 'state' | 'proofHash' | 'attempts' | 'txHash' | 'updatedAt'>,
  network: Network | null,
): Anchor {
  const { txHash } = completion;
  return {
    state: completion.state,
    proof_hash: completion.proofHash,
    tx_hash: txHash,
    explorer_url: txHash === null || network === null ? null : explorerUrlOf(network, txHash),
    attempts: completion.attempts,
    updated_at: formatTimestamp(completion.updatedAt),
  };
}

/** `network` is the receipt's own. */
export function viewVerification(
  task: TaskRecord,
  completion: CompletionRecord,
  receipt: ReceiptRecord,
  network: Network,
): Verification {
  return {
    task_id: task.id,
    robot_id: task.robotId,
    status: 'verified',
    proof_hash: completion.proofHash,
    tx_hash: receipt.txHash,
    block_number: receipt.blockNumber.toString(),
    anchored_at: formatTimestamp(receipt.anchoredAt),
    explorer_url: explorerUrlOf(network, receipt.txHash),
    chain_id: receipt.chainId,
    claim_hash: completion.claimHash,
    inclusion: viewInclusion(receipt.inclusion),
    finality: receipt.finality,
  };
}

function viewInclusion(inclusion: Inclusion | null): Inclusion | null {
  if (inclusion === null) return null;
  const { root, leaf_index, leaf_count, path } = inclusion;
  return { root, leaf_index, leaf_count, path };
}
