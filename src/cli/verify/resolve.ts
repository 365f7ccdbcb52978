// Resolves what only the service knows: a task id, and whether a hash is that of a transaction.
import { SvcError } from '../../base/svc-error.ts';
import type { JsonValue } from '../../proof/json-value.ts';
import type { StrictJsonOptions } from '../../proof/strict-json.ts';
import { type Subject, subjectOfCalldata, subjectOfReceipt } from '../../proof/subject/subject.ts';
import type { Context } from '../context.ts';
import { askService, type Word } from './service.ts';
import { namingDocument, readSubject } from './subject.ts';

/**
 * Reads the argument of `svc verify`. A task id needs a session, so it is refused with `offline`. Throws `still_pending`
 * for a task without a receipt.
 */
export async function resolveSubject(
  context: Context,
  argument: string,
  { offline, ...options }: { offline: boolean } & Pick<StrictJsonOptions, 'numbers'>,
): Promise<Subject> {
  const recognized = await readSubject(argument, options);
  if ('proofHash' in recognized) return recognized;
  if (offline) throw new SvcError('usage', '--block-hash needs a bundle with a chain proof.');
  const { body } = await context.call('getTask', { params: { id: recognized.taskId } });
  if (body.verification === null) {
    throw new SvcError('still_pending', `Task ${recognized.taskId} has no receipt yet.`, {
      hint: `Wait for it with svc tasks watch ${recognized.taskId}`,
    });
  }
  const subject = namingDocument('the receipt of the service', () =>
    subjectOfReceipt('task id', body.verification as JsonValue),
  );
  if (subject.taskId === recognized.taskId) return subject;
  throw new SvcError('unexpected_answer', 'The service sent the receipt of another task.');
}

/**
 * Asks the service about the subject. A hash that no proof has may be that of an anchoring transaction: its proof is the
 * subject then. Throws as `askService`, and `ambiguous` for the transaction of several proofs.
 */
export async function askAbout(
  context: Context,
  subject: Subject,
): Promise<{ subject: Subject; word: Word }> {
  try {
    return { subject, word: await askService(context, subject) };
  } catch (error) {
    const isUnknown = error instanceof SvcError && error.code === 'not_found';
    if (!isUnknown || subject.kind !== 'proof hash') throw error;
    const found = await subjectOfTransaction(context, subject.proofHash);
    if (found === null) throw error;
    return { subject: found, word: await askOfTransaction(context, found, subject.proofHash) };
  }
}

/** Null if the service anchored nothing in such a transaction. */
async function subjectOfTransaction(
  { client, target }: Context,
  txHash: string,
): Promise<Subject | null> {
  const { url } = await target();
  const found = await client(url)
    .call('readAnchorTransaction', { params: { txHash } })
    .then(({ body }) => subjectOfCalldata(body.tx?.input ?? '0x'))
    .catch((error: unknown) => {
      if (error instanceof SvcError && error.code === 'not_found') return null;
      throw error;
    });
  if (typeof found !== 'number') return found;
  throw new SvcError('ambiguous', `${txHash} is the transaction of a batch of ${found} proofs.`, {
    hint: 'Give the proof hash, the receipt or the bundle of one of them.',
  });
}

async function askOfTransaction(context: Context, subject: Subject, txHash: string): Promise<Word> {
  const word = await askService(context, subject);
  if (word.answer.anchor.tx_hash === txHash) return word;
  throw new SvcError(
    'ambiguous',
    `The proof of transaction ${txHash} is anchored in another transaction too.`,
    { hint: 'Give the receipt or the bundle.' },
  );
}
