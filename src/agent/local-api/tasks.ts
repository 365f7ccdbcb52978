// Claims, completions and task lookups of the local API.
import { v7 as newId } from 'uuid';
import type { Hex } from '../../proof/bytes.ts';
import { canonicalJson } from '../../proof/canonical-json.ts';
import { hashCanonicalText } from '../../proof/hash.ts';
import { limits } from '../../protocol/limits.ts';
import type { Task, Verification } from '../../protocol/resources.ts';
import { type Answer, type Body, routes } from '../../protocol/routes.ts';
import { formatTimestamp, utcOf } from '../../protocol/timestamp.ts';
import { agentError, isAgentErrorCode } from '../errors.ts';
import type { SpoolRecord } from '../spool/records.ts';
import type { Receipt, Refusal } from '../spool/settled.ts';
import { diskFull } from '../spool/spool.ts';
import type { Claim, Completion } from '../spool/tasks.ts';
import { callError } from '../uploads/retry.ts';
import { documentText, type LocalDeps, requireZone } from './call.ts';

type ClaimContent = Omit<Body<'createTask'>, 'id'>;

/**
 * Claims a task. The claim is durable when it resolves.
 * @throws SvcError `payload_too_large`, `id_conflict`, `spool_full`
 */
export async function claimTask(
  { spool, clock }: LocalDeps,
  { id: given, ...content }: Body<'createTask'>,
): Promise<{ task: Task; next: string }> {
  const { expected_result: expected, occurred_at } = content;
  requireZone('occurred_at', occurred_at, routes.createTask);
  if (expected !== undefined) {
    documentText('expected_result', expected, limits.expectedResultBytes);
  }
  const id = given ?? newId();
  const record: SpoolRecord = { kind: 'claim', id, ...clock.now(), body: canonicalJson(content) };
  const result = await spool.claim(record);
  switch (result.outcome) {
    case 'stored':
      return { task: viewTask({ ...record, answer: null }), next: nextStep(id) };
    case 'repeated':
      return { task: viewTask(result.claim), next: nextStep(id) };
    case 'completed':
      return {
        task: {
          ...(result.receipt.task ?? viewTask({ ...record, answer: null })),
          status: 'verified',
        },
        next: `Read the receipt with GET /api/v1/tasks/${id}`,
      };
    case 'conflict':
      throw agentError('id_conflict', 'The task id is already used with other content.');
    case 'full':
      throw spoolFull(spool);
  }
}

function nextStep(id: string): string {
  return `Do the work, then submit the evidence as proof with POST /api/v1/tasks/${id}/complete`;
}

/** `created_at` is the robot's time until the service has accepted the claim. */
function viewTask({ id, body, wallMs, answer }: Omit<Claim, 'seq'>): Task {
  if (answer !== null) return answer;
  const { title, description }: ClaimContent = JSON.parse(body);
  const created_at = formatTimestamp(wallMs);
  return { id, title, description: description ?? null, status: 'claimed', created_at };
}

/**
 * Accepts a proof. It is durable when it resolves. Waits for the receipt until `enough` aborts. With `anyway`, a proof of a
 * task that the service does not know is accepted too.
 * @throws SvcError `not_found`, `payload_too_large`, `already_completed`, `completion_in_progress`, `spool_full`, and the
 * service's refusal of the proof or of its claim
 */
export async function completeTask(
  deps: LocalDeps,
  taskId: string,
  { proof, outcome }: Body<'completeTask'>,
  { enough, anyway }: { enough: AbortSignal; anyway: boolean },
): Promise<
  | { status: 200; body: { verification: Verification } }
  | { status: 202; body: ReturnType<typeof accepted> & { warning?: string } }
> {
  const { spool, clock } = deps;
  const body = documentText('proof', proof, limits.proofBytes);
  const proofHash = hashCanonicalText(body);
  const warning = await checkTask(deps, taskId, anyway);
  if (warning !== null) deps.logger.warn({ task: taskId }, 'completion of an unknown task');
  const record = { kind: 'completion' as const, id: taskId, ...clock.now(), body, outcome };
  const result = await spool.complete(record, proofHash);
  switch (result.outcome) {
    case 'stored':
      break;
    case 'completed':
      throw alreadyCompleted(result.receipt, proofHash);
    case 'in_progress':
      // A repeat of the same completion waits like the first.
      if (result.completion.proofHash === proofHash && !enough.aborted) break;
      throw inProgress(result.completion, proofHash);
    case 'claim_refused':
      throw refusalError('claim', result.refusal);
    case 'full':
      throw spoolFull(spool);
  }
  await spool.waitForReceipt(taskId, enough);
  const receipt = spool.findReceipt(taskId);
  if (receipt !== null) return { status: 200, body: { verification: receipt.verification } };
  const completion = spool.findCompletion(taskId);
  if (completion !== null) {
    return { status: 202, body: { ...accepted(completion), ...(warning !== null && { warning }) } };
  }
  const refusal = spool.findRefusal(taskId);
  if (refusal !== null) throw refusalError('proof', refusal);
  throw agentError('not_found', 'There is no such task of this robot.');
}

function inProgress({ id, proofHash }: Completion, sentHash: Hex) {
  const isSame = proofHash === sentHash;
  const message = isSame
    ? `This evidence is stored and not anchored yet; poll GET /api/v1/tasks/${id}`
    : notStored(`other evidence of this task is not anchored yet: ${proofHash}`);
  const details = { proof_hash: proofHash, same_evidence: isSame };
  return agentError('completion_in_progress', message, { details });
}

function alreadyCompleted({ proofHash, verification }: Receipt, sentHash: Hex) {
  const isSame = proofHash === sentHash;
  const message = isSame
    ? 'The task already has this evidence; this answer has its receipt.'
    : notStored(`the task is already completed with other evidence: ${proofHash}`);
  const details = { proof_hash: proofHash, same_evidence: isSame, verification };
  return agentError('already_completed', message, { details });
}

function notStored(reason: string): string {
  return `This evidence was NOT stored, because ${reason}. Claim a new task for this evidence.`;
}

/**
 * Null for a task that this machine or the service knows; otherwise a warning: the service cannot be asked, or it does not
 * know the task and `anyway` is set.
 * @throws SvcError `not_found` if the service does not know a task that the spool never saw
 */
export async function checkTask(
  { spool, readTask }: LocalDeps,
  id: string,
  anyway = false,
): Promise<string | null> {
  const isKnown = spool.read(
    ({ tasks, settled }) =>
      (tasks.claim(id) ?? tasks.completion(id) ?? settled.receipt(id)) !== null ||
      (settled.refusalOf('claim', id) ?? settled.refusalOf('completion', id)) !== null,
  );
  if (isKnown) return null;
  const error = await readTask(id).then(() => null, callError);
  if (error === null) return null;
  if (error.code !== 'not_found') {
    return `This machine has not claimed task ${id}, and the service cannot be asked now. Check the id.`;
  }
  if (anyway) return `The service does not know task ${id}. Check the id.`;
  throw agentError('not_found', `The service does not know task ${id}; nothing was stored.`);
}

/** Answer of `complete` while there is no receipt. `state`: `queued` on this machine, or `accepted` by the service. */
function accepted({ id, proofHash, state, wallMs }: Completion) {
  return {
    status: 'pending',
    error: 'anchor_unconfirmed',
    message: `The proof is stored on this machine and waits for its receipt; poll GET /api/v1/tasks/${id}`,
    proof_hash: proofHash,
    tx_hash: null,
    explorer_url: null,
    state,
    task_id: id,
    queued_at: formatTimestamp(wallMs),
  };
}

type TaskAnswer = Answer<'getTask'>['body'];

/** Shape of the service's answer. What this machine cannot know yet is null. */
type LocalTask = Omit<TaskAnswer, 'task'> & {
  task: Omit<TaskAnswer['task'], 'robot_id'> & { robot_id: string | null };
};

/**
 * The task from this machine if possible, else from the service.
 * @throws SvcError `not_found`, `service_unreachable` if only the service could know the task
 */
export async function readTask(deps: LocalDeps, id: string): Promise<LocalTask | TaskAnswer> {
  const claim = deps.spool.findClaim(id);
  if (claim !== null) return viewLocally(deps, claim);
  const receipt = deps.spool.findReceipt(id);
  try {
    return await deps.readTask(id);
  } catch (error) {
    if (receipt?.task == null) throw error;
    const { task, verification } = receipt;
    const unknown = {
      expected_result: null,
      occurred_at: null,
      credit_refused_at: null,
      outcome: null,
    };
    return {
      task: { ...task, ...unknown, status: 'verified', robot_id: verification.robot_id },
      anchor: null,
      verification,
    };
  }
}

function viewLocally({ spool }: LocalDeps, claim: Claim): LocalTask {
  const content: ClaimContent = JSON.parse(claim.body);
  const completion = spool.findCompletion(claim.id);
  return {
    task: {
      ...viewTask(claim),
      expected_result: (content.expected_result as TaskAnswer['task']['expected_result']) ?? null,
      occurred_at: utcOf(content.occurred_at),
      robot_id: spool.read(({ state }) => state.robotId()),
      credit_refused_at: null,
      outcome: completion?.outcome ?? null,
    },
    anchor:
      completion === null
        ? null
        : {
            state: 'queued',
            proof_hash: completion.proofHash,
            tx_hash: null,
            explorer_url: null,
            attempts: 0,
            accepted_at: null,
            anchored_by: null,
            updated_at: formatTimestamp(completion.wallMs),
          },
    verification: null,
  };
}

function refusalError(what: 'claim' | 'proof', { code, message }: Refusal) {
  const known = isAgentErrorCode(code) ? code : 'anchoring_failed';
  return agentError(known, `The service refused the ${what} of this task: ${message}`);
}

function spoolFull({ isDiskFull }: LocalDeps['spool']) {
  if (isDiskFull) return diskFull();
  const message = 'The spool has no space for more claims and proofs (SVC_AGENT_SPOOL_MAX_MB).';
  return agentError('spool_full', message, {
    hint: 'Restore the connection to the service, or raise SVC_AGENT_SPOOL_MAX_MB.',
  });
}
