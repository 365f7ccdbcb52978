// Asks the service about a proof.
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import { type Subject, subjectOfCalldata, subjectOfReceipt } from '../../proof/subject/subject.ts';
import type { PublicVerification } from '../../protocol/resources.ts';
import type { Context } from '../context.ts';
import { chainOptionsOf, namingDocument } from './subject.ts';

/** The service's answer about a proof. */
export interface ServiceAnswer {
  /** Origin of the service. */
  url: string;
  verification: PublicVerification;
  /** Null while no anchor is in the chain. */
  stated: StatedAnchor | null;
}

/** A subject, completed with the service's answer if no document states the anchor. */
interface Answered {
  subject: Subject;
  answer: ServiceAnswer;
}

/**
 * Asks the service about the subject, and about its task if it names one. A hash that no proof has may be that of an
 * anchoring transaction: its proof is the subject then. Throws `not_found`, `unexpected_answer`, `no_service`, and
 * `ambiguous` for the transaction of several proofs.
 */
export async function askService(context: Context, subject: Subject): Promise<Answered> {
  try {
    return await askAboutProof(context, subject);
  } catch (error) {
    if (!isNotFound(error) || subject.kind !== 'proof hash') throw error;
    const answered = await askAboutTransaction(context, subject.proofHash);
    if (answered === null) throw error;
    return answered;
  }
}

/** The receipt of a task of the account. Throws `still_pending` for a task without a receipt. */
export async function readTaskReceipt({ call }: Context, taskId: string): Promise<Subject> {
  const { body } = await call('getTask', { params: { id: taskId } });
  if (body.verification === null) {
    throw new SvcError('still_pending', `Task ${taskId} has no receipt yet.`, {
      hint: `Wait for it with svc tasks watch ${taskId}`,
    });
  }
  const subject = namingDocument('the receipt of the service', () =>
    subjectOfReceipt('task id', body.verification as JsonValue),
  );
  if (subject.taskId === taskId) return subject;
  throw new SvcError('unexpected_answer', 'The service sent the receipt of another task.');
}

async function askAboutProof({ client, target }: Context, subject: Subject): Promise<Answered> {
  const { proofHash, taskId } = subject;
  const suggestChain = (error: unknown) => Promise.reject(withChainHint(error, subject));
  const { url } = await target().catch(suggestChain);
  const query = taskId === null ? {} : { task_id: taskId };
  const { body } = await client(url)
    .call('verifyProofHash', { params: { proofHash }, query })
    .catch((error) => suggestChain(isNotFound(error) ? unknownHash(proofHash, url) : error));
  if (body.proof_hash !== proofHash || (taskId !== null && body.task.id !== taskId)) {
    const message = `Unexpected answer from ${url}: it is about another proof.`;
    throw new SvcError('unexpected_answer', message);
  }
  const answer = { url, verification: body, stated: statedBy(body) };
  if (subject.stated !== null) return { subject, answer };
  const unproven = { title: body.task.title, robot_name: body.task.robot };
  return { subject: { ...subject, stated: answer.stated, unproven }, answer };
}

/** Null if the service anchored nothing in such a transaction. */
async function askAboutTransaction(context: Context, txHash: string): Promise<Answered | null> {
  const { url } = await context.target();
  const subject = await context
    .client(url)
    .call('readAnchorTransaction', { params: { txHash } })
    .then(({ body }) => subjectOfCalldata(body.tx?.input ?? '0x'))
    .catch((error: unknown) => (isNotFound(error) ? null : Promise.reject(error)));
  if (subject === null) return null;
  if (typeof subject === 'number') {
    const message = `${txHash} is the transaction of a batch of ${subject} proofs.`;
    throw new SvcError('ambiguous', message, {
      hint: 'Give the proof hash, the receipt or the bundle of one of them.',
    });
  }
  const answered = await askAboutProof(context, subject);
  if (answered.answer.verification.anchor.tx_hash === txHash) return answered;
  const message = `The proof of transaction ${txHash} is anchored in another transaction too.`;
  throw new SvcError('ambiguous', message, { hint: 'Give the receipt or the bundle.' });
}

/** Null for an anchor that a reorganization removed: the service anchors it again. */
function statedBy({ proof_hash, task, anchor }: PublicVerification): StatedAnchor | null {
  const { chain_id, tx_hash, block_number, anchored_at, from, inclusion, finality } = anchor;
  const isComplete =
    tx_hash !== null && block_number !== null && anchored_at !== null && from !== null;
  if (!isComplete || finality === 'reorged') return null;
  const { id: task_id, robot_id, claim_hash, statement_hash } = task;
  const leaf = {
    proof_hash,
    task_id,
    robot_id,
    claim_hash,
    statement_hash: statement_hash ?? null,
  };
  return { chain_id, ...leaf, inclusion, tx_hash, block_number, anchored_at, from };
}

function isNotFound(error: unknown): boolean {
  return error instanceof SvcError && error.code === 'not_found';
}

function unknownHash(hash: string, url: string): SvcError {
  return new SvcError('not_found', `${url} has no proof with the hash ${hash}.`, {
    hint: 'This shows no forgery: evidence that differs in one character has another hash, and another service may have anchored it (--url).',
  });
}

/** A document needs no service: if none is known, or it does not know the proof, the error suggests to read the chain. */
function withChainHint(error: unknown, subject: Subject): unknown {
  const { stated } = subject;
  if (stated === null || !(error instanceof SvcError)) return error;
  const isUnnamed = error.code === 'no_service';
  if (!isUnnamed && error.code !== 'not_found') return error;
  const { chain_id, block_number } = stated;
  const place =
    block_number === undefined ? '' : `The file names block ${block_number} of chain ${chain_id}. `;
  const none = 'No service is known, and no node of the chain is given.';
  return new SvcError(error.code, isUnnamed ? none : error.message, {
    hint: `${place}Check it against the chain with ${chainOptionsOf(subject)}, or name its service with --url.`,
  });
}
