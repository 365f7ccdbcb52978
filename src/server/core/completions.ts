// Completes a task: hashes the evidence, queues it, waits for its anchor.
import { runYielding } from '../../base/async/cooperative-yield.ts';
import type { Hex } from '../../proof/bytes.ts';
import { hashCanonicalText, hashClaimInPieces } from '../../proof/hash.ts';
import type { Proof } from '../../proof/json-value.ts';
import { leafHash } from '../../proof/leaf.ts';
import { contentHash } from '../../proof/statements/statement.ts';
import { limits } from '../../protocol/limits.ts';
import type { Answer, Body } from '../../protocol/routes.ts';
import type { NewCompletion } from '../ports/completions.ts';
import { wireError } from '../ports/errors.ts';
import type { RobotCaller } from '../ports/robots.ts';
import type { TaskRecord } from '../ports/tasks.ts';
import { lacksCredit } from '../rules/credits.ts';
import { rowBytes } from '../rules/storage.ts';
import { type Deps, keyRevoked } from './deps.ts';
import { anchoringChainId, explorerUrlOf } from './operations.ts';
import { type AcceptedTask, promiseOf } from './signing/promises.ts';
import { statementRequired, takeStatement } from './signing/statements.ts';
import { canonicalSteps, claimOf, taskNotFound, verificationOf } from './tasks.ts';

export type Completed = Answer<'completeTask'>;
export type Result = Omit<Body<'completeTask'>, 'proof'> & { proof: Proof };

/** Runs the waiting part of a completion; see `completeTask`. */
export type Wait<T> = (work: (enough: AbortController) => Promise<T>) => Promise<T>;

/** By `same_evidence`. */
const REASONS = {
  true: 'The task already has this evidence.',
  false: 'Other evidence was accepted first for this task; what you sent was not stored.',
  null: 'Evidence was accepted before for this task; what you sent was not read.',
};

/**
 * Queues the proof, and then waits for its anchor. `wait` runs the waiting part, with a controller that ends the wait
 * when it aborts: `wait` may abort it, and `anchorTimeoutMs` does. In either case the completion continues without the
 * request. The response depends only on what is stored afterwards.
 *
 * Throws `payload_too_large`, `not_found`, `already_completed`, `completion_in_progress`, `no_anchor_quota`,
 * `no_gas_credit`, `chain_unavailable` (fees were never read), `anchoring_failed`, `invalid_api_key` if the key ended
 * in the meantime, and as `takeStatement`.
 */
export function completeTask(
  deps: Deps,
  robot: RobotCaller,
  taskId: string,
  result: Result,
  wait: Wait<Completed>,
): Promise<Completed> {
  const answer = (proofHash: Hex) =>
    wait(async (enough) => {
      await waitForAnchors(deps, [taskId], enough);
      const task = await requireTask(deps, robot, taskId);
      return answerByState(deps, task, proofHash, (accepted) => promiseOf(deps, [accepted]));
    });
  // Not an async function, which would keep the proof and its text in memory until the anchor.
  return acceptCompletion(deps, robot, taskId, result).then(answer);
}

/** Queues the proof. Returns its hash once it is durable. Throws as `completeTask`. */
export function acceptCompletion(
  deps: Deps,
  robot: RobotCaller,
  taskId: string,
  result: Result,
): Promise<Hex> {
  return newCompletion(deps, robot, taskId, result).then((completion) =>
    queue(deps, robot, completion),
  );
}

/** Canonicalizes and hashes the proof, and stores the statement. */
async function newCompletion(
  deps: Deps,
  robot: RobotCaller,
  taskId: string,
  { proof, ...stated }: Result,
): Promise<NewCompletion> {
  const task = await requireTask(deps, robot, taskId);
  const steps = canonicalSteps('proof', proof, limits.proofBytes);
  const canonical = await runYielding(steps).catch(async (error) => {
    await takeResult(deps, robot, task, stated);
    return refuseProof(deps, task, error);
  });
  const proofHash = hashCanonicalText(canonical);
  const taken = await takeResult(deps, robot, task, stated, proofHash);
  const statementHash = taken?.hash ?? null;
  const claimHash = await runYielding(hashClaimInPieces(claimOf(task)));
  const { id: robotId, keyHash } = robot;
  return {
    taskId,
    robotId,
    keyHash,
    proof: canonical,
    proofHash,
    claimHash,
    leaf: leafHash({
      proof_hash: proofHash,
      task_id: task.id,
      robot_id: task.robotId,
      claim_hash: claimHash,
      statement_hash: statementHash,
    }),
    statementHash,
    outcome: taken?.outcome ?? stated.outcome ?? null,
    now: deps.clock.now(),
  };
}

/** Stores the statement of a result; null without one. `proofHash` is absent if the evidence is too large. */
async function takeResult(
  deps: Deps,
  robot: RobotCaller,
  task: TaskRecord,
  { statement, outcome }: Omit<Result, 'proof'>,
  proofHash?: Hex,
) {
  if (statement === undefined) return null;
  const expected = {
    type: 'result',
    task_id: task.id,
    content_hash: contentHash(claimOf(task)),
    ...(proofHash && { proof_hash: proofHash }),
    ...(outcome && { outcome }),
  } as const;
  const bytes = rowBytes(statement);
  const room = await deps.store.takeStorage(robot.wallet, bytes, deps.clock.now());
  const hasRoom = room.outcome === 'taken';
  return takeStatement(deps, robot, statement, expected, hasRoom).finally(() => {
    if (hasRoom) room.release();
  });
}

/** Rejects an invalid proof. If the task is completed or being anchored, it reports that first. */
export async function refuseCompletion(
  deps: Deps,
  robot: RobotCaller,
  taskId: string,
  error: Error,
): Promise<never> {
  return refuseProof(deps, await requireTask(deps, robot, taskId), error);
}

async function refuseProof(deps: Deps, task: TaskRecord, error: Error): Promise<never> {
  const isOpen = task.completion !== null && task.completion.state !== 'failed';
  if (task.status === 'verified' || isOpen) throw await otherCompletion(deps, task, null);
  throw error;
}

async function requireTask(deps: Deps, robot: RobotCaller, taskId: string): Promise<TaskRecord> {
  const task = await deps.store.getTask(taskId, { robotId: robot.id });
  if (task === null) throw taskNotFound();
  return task;
}

/** Returns the hash of the proof once it is durable. */
async function queue(deps: Deps, { wallet }: RobotCaller, completion: NewCompletion): Promise<Hex> {
  const { taskId, robotId, proofHash } = completion;
  const result = await deps.store.queueCompletion(completion);
  // The task is marked, and an alert may have opened.
  if (lacksCredit(result)) deps.store.changed(wallet, null);
  switch (result.outcome) {
    case 'queued':
      deps.store.changed(wallet, { anchor: taskId, credit: taskId, robot: robotId });
      return proofHash;
    case 'already_completed':
    case 'completion_in_progress':
      throw await otherCompletion(deps, result.task, proofHash);
    case 'no_anchor_quota':
      throw wireError(
        'no_anchor_quota',
        'The account has no anchors left. The task stays claimed.',
      );
    case 'no_gas_credit':
      throw wireError(
        'no_gas_credit',
        "The account's gas credit does not cover an anchor at current fees. The task stays claimed.",
      );
    case 'no_fee_quote':
      throw wireError(
        'chain_unavailable',
        'The anchoring chain has not been reached yet, so fees are unknown. The task stays claimed.',
      );
    case 'statement_required':
      throw statementRequired('it has none');
    case 'not_found':
      throw taskNotFound();
    case 'key_revoked':
      throw keyRevoked();
  }
}

/** Does not wait while no account can anchor. */
export async function waitForAnchors(
  { store, settings }: Deps,
  taskIds: readonly string[],
  enough: AbortController,
): Promise<void> {
  const timer = setTimeout(() => enough.abort(), settings.anchorTimeoutMs);
  try {
    if ((await store.getChainStatus())?.isStopped) return;
    await store.waitForCompletions(taskIds, enough.signal);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The error for a second completion. It names the accepted one, and says whether its evidence is the same as what was
 * sent; `null` if that was not hashed.
 */
async function otherCompletion(deps: Deps, task: TaskRecord, sentHash: Hex | null) {
  const proof_hash = task.completion?.proofHash;
  const verification = await verificationOf(deps, task);
  const same_evidence = sentHash === null ? null : sentHash === proof_hash;
  const reason = REASONS[`${same_evidence}`];
  if (verification !== null) {
    return wireError('already_completed', `${reason} The response contains its receipt.`, {
      details: { proof_hash, same_evidence, verification },
    });
  }
  const message = `${reason} It is still being anchored. Poll GET /api/v1/tasks/${task.id}`;
  return wireError('completion_in_progress', message, { details: { proof_hash, same_evidence } });
}

/**
 * The response to the completion that queued this proof. It never reports the result of another proof. `promiseOfTask`
 * makes the promise of a response 202.
 */
export async function answerByState(
  deps: Deps,
  task: TaskRecord,
  proofHash: Hex,
  promiseOfTask: (task: AcceptedTask) => Promise<string | undefined>,
): Promise<Completed> {
  const { completion } = task;
  if (completion === null) throw taskNotFound();
  const { txHash, state } = completion;
  // Another proof is accepted only after this one failed.
  if (completion.proofHash !== proofHash && state !== 'failed') {
    throw await otherCompletion(deps, task, proofHash);
  }
  const verification = await verificationOf(deps, task);
  if (verification !== null) return { status: 200, body: { verification } };
  if (state === 'failed') {
    throw wireError(
      'anchoring_failed',
      'The chain refused the anchor before it was signed. Nothing was charged.',
      { details: { proof_hash: proofHash } },
    );
  }
  const poll = `Poll GET /api/v1/tasks/${task.id}`;
  const promise = await promiseOfTask({ ...task, completion });
  const queued = {
    ...(promise !== undefined && { promise }),
    status: 'pending',
    error: 'anchor_queued',
    message: `The proof is stored and waits to be anchored. ${poll}`,
    proof_hash: proofHash,
    tx_hash: null,
    explorer_url: null,
  } as const;
  if (txHash === null) return { status: 202, body: queued };
  const network = await deps.network(await anchoringChainId(deps));
  return {
    status: 202,
    body: {
      ...queued,
      error: 'anchor_unconfirmed',
      message: `The anchor was submitted and is not confirmed yet. ${poll}`,
      tx_hash: txHash,
      explorer_url: explorerUrlOf(network, txHash),
    },
  };
}
