// Claims, reads and lists tasks.

import { NIL } from 'uuid';
import { newId } from '../../base/new-id.ts';
import { canonicalPieces } from '../../proof/canonical-json.ts';
import type { JsonObject } from '../../proof/json-value.ts';
import { runSteps } from '../../proof/run-steps.ts';
import { contentHash, type TaskContent } from '../../proof/statements/statement.ts';
import { tooLarge } from '../../protocol/body-error.ts';
import { limits } from '../../protocol/limits.ts';
import type {
  Anchor,
  Task,
  TaskDetail,
  TaskListItem,
  Verification,
} from '../../protocol/resources.ts';
import type { Body, Query } from '../../protocol/routes.ts';
import { formatIfAny, formatTimestamp, utcOf } from '../../protocol/timestamp.ts';
import { wireError } from '../ports/errors.ts';
import type { RobotCaller } from '../ports/robots.ts';
import type {
  CompletionRecord,
  ReceiptRecord,
  TaskListRecord,
  TaskRecord,
  Viewer,
} from '../ports/tasks.ts';
import { rowBytes } from '../rules/storage.ts';
import { type Deps, found, keyRevoked, type Network, noSuch, storing } from './deps.ts';
import { anchoringChainId, explorerUrlOf } from './operations.ts';
import type { Page } from './paging.ts';
import { filteredPage, fleetMembers, periodOf, readCursor } from './paging.ts';
import { promisedClaimTime } from './signing/promises.ts';
import { statementRequired, takeStatement } from './signing/statements.ts';

/**
 * Claims a task for the robot. Repeating an id with the same content returns the stored task. Throws
 * `payload_too_large`, `id_conflict`, `invalid_api_key` if the key ended in the meantime, and as `takeStatement`.
 */
export async function claimTask(
  deps: Deps,
  robot: RobotCaller,
  claim: Body<'createTask'>,
): Promise<{ task: Task; next: string }> {
  const taken = await takeClaim(deps, robot, claim);
  const { expected_result: expected } = claim;
  const expectedResult =
    expected === undefined
      ? null
      : canonicalDocument('expected_result', expected, limits.expectedResultBytes);
  const task = {
    id: claim.id ?? newId(),
    robotId: robot.id,
    keyHash: robot.keyHash,
    title: claim.title,
    description: claim.description ?? null,
    expectedResult,
    occurredAt: utcOf(claim.occurred_at),
    createdAt: (await claimedBefore(deps, robot, claim)) ?? deps.clock.now(),
    idGiven: claim.id !== undefined,
    isSigned: taken !== null,
  };
  const bytes = rowBytes(task.title, task.description, task.expectedResult);
  const result = await storing(deps, robot, bytes, () => deps.store.createTask(task));
  switch (result.outcome) {
    case 'created':
    case 'repeated':
      deps.store.changed(robot.wallet, { task: task.id, robot: robot.id });
      return { task: viewTask(result.task), next: nextStep(result.task) };
    case 'id_conflict':
      throw wireError('id_conflict', 'The task id is already used with other content.');
    case 'statement_required':
      throw statementRequired('it has none');
    case 'key_revoked':
      throw keyRevoked();
  }
}

/** Stores the statement of a claim; null without one. */
async function takeClaim(deps: Deps, robot: RobotCaller, claim: Body<'createTask'>) {
  const { statement, id } = claim;
  if (statement === undefined) return null;
  if (id === undefined) throw statementRequired('the claim needs the id of its task');
  const expected = {
    type: 'claim',
    task_id: id,
    content_hash: contentHash(contentOf(claim)),
  } as const;
  return storing(deps, robot, rowBytes(statement), () =>
    takeStatement(deps, robot, statement, expected, true),
  );
}

/** When the service first had this claim, by its promise; null without one that counts. */
async function claimedBefore(deps: Deps, robot: RobotCaller, claim: Body<'createTask'>) {
  const { id, promised } = claim;
  if (id === undefined || promised === undefined) return null;
  return promisedClaimTime(deps, { id, robotId: robot.id, claim: contentOf(claim) }, promised);
}

/** The content of a claim as it is stored, and so as its bundle has it. */
function contentOf({ title, description, expected_result, occurred_at }: Body<'createTask'>) {
  const content = { title, description, expected_result, occurred_at: utcOf(occurred_at) };
  return content as TaskContent; // Parsed from JSON.
}

/** The task with its anchor and receipt. Throws `not_found`, also for a task that the viewer may not see. */
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

/** The receipt of a verified task, otherwise null. */
export async function verificationOf(deps: Deps, task: TaskRecord): Promise<Verification | null> {
  const { completion } = task;
  if (!completion?.receipt) return null;
  const { receipt } = completion;
  return viewVerification(task, completion, receipt, await deps.network(receipt.chainId));
}

/**
 * Canonicalizes a document, yielding between pieces. `maxBytes` counts UTF-8. Throws `payload_too_large`, naming field
 * and limit, as soon as the text exceeds the limit.
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
    if (bytes > maxBytes) {
      const { code, message } = tooLarge(field, maxBytes);
      throw wireError(code, message);
    }
    yield;
  }
  return text;
}

/** As `canonicalSteps`, for a document whose limit is so small that it needs no yielding. */
export function canonicalDocument(field: string, document: object, maxBytes: number): string {
  return runSteps(canonicalSteps(field, document, maxBytes));
}

export function taskNotFound() {
  return wireError('not_found', 'The task does not exist, or the caller may not read it.');
}

/**
 * One page of the tasks of the account's robots, or of the calling robot, newest first. Throws `not_found` if the account
 * does not have the robot or the fleet of the filter.
 */
export async function listTasks(
  deps: Deps,
  { wallet, robotId: caller }: Viewer & { wallet: string },
  query: Query<'listTasks'>,
): Promise<Page<TaskListItem>> {
  const { status = null, state, fleet_id: fleetId } = query;
  const search = query.search?.toLowerCase();
  const filter = { wallet, status, robotId: caller ?? query.robot_id ?? null };
  if (caller !== undefined && (query.robot_id ?? caller) !== caller) throw noSuch('robot');
  const { from, to } = periodOf(query);
  const isMember = await fleetMembers(deps, wallet, fleetId);
  const end = { at: to, id: NIL };
  const place = readCursor(query.cursor, 'at') ?? end;
  const begin = place.at < to ? place : end;
  const page = await filteredPage<TaskListRecord, TaskListRecord>({
    limit: query.limit,
    isFiltered: [state, fleetId, search].some((filter) => filter !== undefined),
    async find(count, last) {
      const place = last === null ? begin : { at: last.createdAt, id: last.id };
      return found('robot', await deps.store.listTasks(filter, count, place));
    },
    keeps: (task) =>
      isMember(task.robotId) &&
      (state === undefined || isInState(deps, task, state)) &&
      (search === undefined || isFound(task, search)),
    isPast: ({ createdAt }) => createdAt < from,
    cursorOf: ({ createdAt, id }) => `${createdAt}_${id}`,
    view: (task) => task,
  });
  const items = await Promise.all(page.items.map((task) => viewTaskListItem(deps, task)));
  return { ...page, items };
}

/** `search` is in lower case, as ids and hashes are. */
function isFound({ id, title, progress }: TaskListRecord, search: string): boolean {
  const names = [id, progress?.proofHash, progress?.txHash];
  return title.toLowerCase().includes(search) || names.some((name) => name?.startsWith(search));
}

function isInState(
  { clock, settings }: Deps,
  { status, progress, creditRefusedAt }: TaskListRecord,
  state: NonNullable<Query<'listTasks'>['state']>,
): boolean {
  if (state === 'refused') return progress === null && creditRefusedAt !== null;
  if (state !== 'overdue') return progress?.state === state;
  const isOpen = status === 'claimed' && progress !== null && progress.state !== 'failed';
  return isOpen && progress.queuedAt + settings.promiseMs < clock.now();
}

/** The fields from which the claim hash is computed. */
export function claimOf(task: TaskRecord) {
  return {
    created_at: formatTimestamp(task.createdAt),
    description: task.description,
    expected_result: expectedResultOf(task),
    occurred_at: task.occurredAt,
    title: task.title,
  };
}

/** `network` is the network of the receipt. */
export function viewVerification(
  task: TaskRecord,
  completion: CompletionRecord,
  receipt: ReceiptRecord,
  network: Network,
): Verification {
  const { statementHash } = completion;
  const members = {
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
    inclusion: receipt.inclusion,
    finality: receipt.finality,
  } as const;
  if (statementHash === null) return { format: 'svc-receipt/1', ...members };
  return { format: 'svc-receipt/2', ...members, statement_hash: statementHash };
}

async function anchorOf(deps: Deps, { completion }: TaskRecord): Promise<Anchor | null> {
  if (completion === null) return null;
  if (completion.txHash === null) return viewAnchor(deps, completion, null);
  const chainId = completion.receipt?.chainId ?? (await anchoringChainId(deps));
  return viewAnchor(deps, completion, await deps.network(chainId));
}

function nextStep(task: TaskRecord): string {
  if (task.status === 'verified') return `Read the receipt with GET /api/v1/tasks/${task.id}`;
  return `Do the work, then submit the evidence as proof with POST /api/v1/tasks/${task.id}/complete`;
}

async function viewTaskListItem(deps: Deps, task: TaskListRecord): Promise<TaskListItem> {
  const { progress } = task;
  const chainId = progress?.chainId ?? null;
  const network = chainId === null ? null : await deps.network(chainId);
  return {
    ...viewTask(task),
    occurred_at: task.occurredAt,
    robot_id: task.robotId,
    credit_refused_at: formatIfAny(task.creditRefusedAt),
    outcome: progress?.outcome ?? null,
    anchor: progress && viewAnchor(deps, progress, network),
  };
}

function viewTask(task: TaskRecord | TaskListRecord): Task {
  return {
    id: task.id,
    title: task.title,
    description: task.description,
    status: task.status,
    created_at: formatTimestamp(task.createdAt),
  };
}

function viewTaskDetail(task: TaskRecord): TaskDetail {
  return {
    ...viewTask(task),
    expected_result: expectedResultOf(task),
    occurred_at: task.occurredAt,
    robot_id: task.robotId,
    credit_refused_at: formatIfAny(task.creditRefusedAt),
    outcome: task.completion?.outcome ?? null,
  };
}

function expectedResultOf(task: TaskRecord): JsonObject | null {
  return task.expectedResult === null ? null : JSON.parse(task.expectedResult);
}

/** `network` is the anchoring network; it is not needed before there is a transaction. */
function viewAnchor(
  { settings }: Deps,
  completion: Omit<TaskListRecord['progress'] & object, 'chainId' | 'outcome'>,
  network: Network | null,
): Anchor {
  const { txHash, queuedAt } = completion;
  return {
    state: completion.state,
    proof_hash: completion.proofHash,
    tx_hash: txHash,
    explorer_url: txHash === null || network === null ? null : explorerUrlOf(network, txHash),
    attempts: completion.attempts,
    accepted_at: formatTimestamp(queuedAt),
    anchored_by: formatTimestamp(queuedAt + settings.promiseMs),
    updated_at: formatTimestamp(completion.updatedAt),
  };
}
