// Asks the service about a proof, and compares its answer with the document.
import { isDeepStrictEqual } from 'node:util';
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import type { Subject } from '../../proof/subject/subject.ts';
import type { PublicVerification } from '../../protocol/resources.ts';
import type { Context } from '../context.ts';
import { type Check, chainOptionsOf } from './finding.ts';

/** The service's answer about a proof hash. */
export interface Word {
  /** Origin of the service. */
  url: string;
  answer: PublicVerification;
  /** What the answer states about the anchor; null while no anchor is in the chain. */
  stated: StatedAnchor | null;
}

/** Asks about the subject's own task if it names one. Throws `not_found`, `unexpected_answer`, `no_service`. */
export async function askService({ client, target }: Context, subject: Subject): Promise<Word> {
  const { proofHash, taskId } = subject;
  const suggestRpc = (error: unknown) => Promise.reject(namingChain(error, subject));
  const { url } = await target().catch(suggestRpc);
  const unknown = (error: unknown) => suggestRpc(namingHash(error, proofHash, url));
  const query = taskId === null ? {} : { task_id: taskId };
  const { body } = await client(url)
    .call('verifyProofHash', { params: { proofHash }, query })
    .catch(unknown);
  if (body.proof_hash !== proofHash || (taskId !== null && body.task.id !== taskId)) {
    throw new SvcError(
      'unexpected_answer',
      `Unexpected answer from ${url}: it is about another proof.`,
    );
  }
  return { url, answer: body, stated: statedBy(proofHash, body) };
}

/** Says what it means that the service does not know the hash. */
function namingHash(error: unknown, hash: string, url: string): unknown {
  if (!(error instanceof SvcError) || error.code !== 'not_found') return error;
  return new SvcError('not_found', `${url} has no proof with the hash ${hash}.`, {
    hint: 'This shows no forgery: evidence that differs in one character has another hash, and another service may have anchored it (--url).',
  });
}

/** A document needs no service: if none is known, or it does not know the proof, the error suggests to read the chain. */
function namingChain(error: unknown, subject: Subject): unknown {
  const { stated } = subject;
  if (stated === null || !(error instanceof SvcError)) return error;
  if (error.code !== 'no_service' && error.code !== 'not_found') return error;
  const { chain_id, block_number } = stated;
  const where =
    block_number === undefined ? '' : `The file names block ${block_number} of chain ${chain_id}. `;
  const none = 'No service is known, and no node of the chain is given.';
  return new SvcError(error.code, error.code === 'no_service' ? none : error.message, {
    hint: `${where}Check it against the chain with ${chainOptionsOf(subject)}, or name its service with --url.`,
  });
}

/** Null for an anchor that a reorganization removed: the service anchors it again. */
function statedBy(proofHash: string, { task, anchor }: PublicVerification): StatedAnchor | null {
  const { chain_id, tx_hash, block_number, anchored_at, from, inclusion, finality } = anchor;
  if (tx_hash === null || block_number === null || anchored_at === null || from === null) {
    return null;
  }
  if (finality === 'reorged') return null;
  return {
    chain_id,
    proof_hash: proofHash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: task.claim_hash,
    inclusion,
    tx_hash,
    block_number,
    anchored_at,
    from,
  };
}

/** Checks the service's answer, and compares it with the document and with the accounts that the caller named. */
export function checkWord(
  { answer, stated: said }: Word,
  stated: StatedAnchor | null,
  named: readonly string[],
): Check[] {
  const { verified, anchor } = answer;
  return [
    {
      name: 'service',
      ok: verified && anchor.on_chain_payload_found,
      detail: verified
        ? 'The service states that the anchor is in the chain'
        : 'The service does not confirm the anchor',
    },
    ...(stated === null || said === null ? [] : [agreement(stated, said)]),
    ...(named.length === 0 ? [] : [senderCheck(said?.from, named)]),
  ];
}

function agreement(stated: StatedAnchor, said: StatedAnchor): Check {
  const differing = Object.entries(stated)
    .filter(([name, value]) => name in said && !sameValue(value, said[name as keyof StatedAnchor]))
    .map(([name]) => name);
  return {
    name: 'statement',
    ok: differing.length === 0,
    detail:
      differing.length === 0
        ? 'The service states the same as the file'
        : `The service and the file differ in ${differing.join(', ')}`,
  };
}

function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a.toLowerCase() === b.toLowerCase();
  return isDeepStrictEqual(a, b);
}

function senderCheck(from: string | undefined, named: readonly string[]): Check {
  const ok = named.some((address) => address.toLowerCase() === from?.toLowerCase());
  const detail = ok
    ? 'The service states that the expected account sent it'
    : 'The service states that another account sent it';
  return { name: 'sender', ok, detail };
}
