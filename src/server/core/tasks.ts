import { newId } from '../../base/new-id.ts';
import { atOnce } from '../../base/steps.ts';
import { canonicalPieces } from '../../proof/canonical-json.ts';
import { tooLarge } from '../../protocol/body-fault.ts';
import { limits } from '../../protocol/limits.ts';
import type { Anchor, Task, TaskDetail, Verification } from '../../protocol/resources.ts';
import type { Body } from '../../protocol/routes.ts';
import { anchoringChainId } from './chain-details.ts';
import type { Deps } from './deps.ts';
import { requireDiskRoom } from './disk-room.ts';
import { fault } from './fault.ts';
import type { TaskRecord, Viewer } from './ports.ts';
import type { RobotCaller } from './robot-store.ts';
import { viewAnchor, viewTask, viewTaskDetail, viewVerification } from './task-view.ts';

/**
 * Claims a task for the robot. The same id with the same content answers the stored task again.
 * Throws `payload_too_large`, `id_conflict`, and `invalid_api_key` when the key ended meanwhile.
 */
export async function claimTask(
  { store, clock }: Deps,
  robot: RobotCaller,
  claim: Body<'createTask'>,
): Promise<{ task: Task; next: string }> {
  const { expected_result: expected } = claim;
  const expectedResult =
    expected === undefined
      ? null
      : canonicalDocument('expected_result', expected, limits.expectedResultBytes);
  await requireDiskRoom({ store });
  const result = await store.createTask({
    id: claim.id ?? newId(),
    robotId: robot.id,
    keyHash: robot.keyHash,
    title: claim.title,
    description: claim.description ?? null,
    expectedResult,
    occurredAt: claim.occurred_at ?? null,
    createdAt: clock.now(),
    idGiven: claim.id !== undefined,
  });
  switch (result.outcome) {
    case 'created':
    case 'repeated':
      return { task: viewTask(result.task), next: nextStep(result.task) };
    case 'id_conflict':
      throw fault('id_conflict', 'The task id is already used with other content.');
    case 'robot_gone':
      throw robotGone();
  }
}

/** The task as its owner sees it. Throws `not_found`, for a task of somebody else too. */
export async function readTask(
  deps: Deps,
  id: string,
  viewer: Viewer,
): Promise<{ task: TaskDetail; anchor: Anchor | null; verification: Verification | null }> {
  const task = await deps.store.getTask(id, viewer);
  if (task === null) throw taskNotFound();
  return {
    task: viewTaskDetail(task),
    anchor: await anchorOf(deps, task),
    verification: await verificationOf(deps, task),
  };
}

/** The receipt of a verified task, else null. */
export async function verificationOf(deps: Deps, task: TaskRecord): Promise<Verification | null> {
  const { completion } = task;
  if (!completion?.receipt) return null;
  const { receipt } = completion;
  return viewVerification(task, completion, receipt, await deps.network(receipt.chainId));
}

async function anchorOf(deps: Deps, { completion }: TaskRecord): Promise<Anchor | null> {
  if (completion === null) return null;
  if (completion.txHash === null) return viewAnchor(completion, null);
  const chainId = completion.receipt?.chainId ?? (await anchoringChainId(deps));
  return viewAnchor(completion, await deps.network(chainId));
}

/**
 * Canonical text of a document, as a computation that pauses from time to time; `maxBytes` counts its UTF-8.
 * Throws `payload_too_large` naming the field and the limit, once that much of the text is made.
 */
export function* canonicalSteps(
  field: string,
  document: object,
  maxBytes: number,
): Generator<void, string> {
  let text = '';
  let bytes = 0;
  for (const piece of canonicalPieces(document)) {
    text += piece;
    bytes += Buffer.byteLength(piece);
    if (bytes > maxBytes) throw documentTooLarge(field, maxBytes);
    yield;
  }
  return text;
}

/** The same of a document whose limit is so small that it takes less than a step. */
export function canonicalDocument(field: string, document: object, maxBytes: number): string {
  return atOnce(canonicalSteps(field, document, maxBytes));
}

function documentTooLarge(field: string, maxBytes: number) {
  const { code, message } = tooLarge(field, maxBytes);
  return fault(code, message);
}

export function taskNotFound() {
  return fault('not_found', 'There is no such task for this caller.');
}

export function robotGone() {
  return fault('invalid_api_key', 'The API key has been revoked.');
}

function nextStep(task: TaskRecord): string {
  if (task.status === 'verified') return `Read the receipt with GET /api/v1/tasks/${task.id}`;
  return `Do the work, then hand in the proof with POST /api/v1/tasks/${task.id}/complete`;
}
