// Reads and erases evidence, and builds bundles.
import type { Proof } from '../../proof/json-value.ts';
import type { Answer } from '../../protocol/routes.ts';
import { wireError } from '../ports/errors.ts';
import type { AccountCaller } from '../ports/sign-in.ts';
import type { CompletionRecord, TaskRecord, Viewer } from '../ports/tasks.ts';
import { type Deps, deleted } from './deps.ts';
import { viewAnchorPlace, viewChainProof, viewSigning } from './signing/bundle.ts';
import { claimOf, taskNotFound } from './tasks.ts';

/** The evidence as submitted. Throws `not_found` if there is none or it was erased. */
export async function readProof({ store }: Deps, id: string, viewer: Viewer) {
  const found = await store.getEvidence(id, viewer);
  if (found === null) throw taskNotFound();
  const { proofHash } = completionOf(found.task);
  if (found.proof === null) {
    const message = 'The evidence of this task was erased. Its hash and receipt remain.';
    throw wireError('not_found', message, { details: { proof_hash: proofHash } });
  }
  const proof: Proof = JSON.parse(found.proof);
  return { proof, proof_hash: proofHash } satisfies Answer<'getProof'>['body'];
}

/** Erases the evidence of one of the account's tasks; hash, anchor and receipt stay. Idempotent. Throws `not_found`. */
export async function eraseProof({ store }: Deps, id: string, { wallet, by }: AccountCaller) {
  const outcome = await store.eraseProof(id, wallet, by);
  if (outcome === 'not_found') throw taskNotFound();
  if (outcome === 'nothing_stored') throw noEvidence();
  store.changed(wallet, { task: id });
  return deleted;
}

/**
 * The bundle of a task, without `proof` if the evidence was erased: of format 3 if the robot signed the work, otherwise of
 * format 2 once the chain proof is stored, unless format 1 is asked for. Throws `completion_in_progress` while the anchor is
 * pending, also after a reorganization, and `not_found` if no completion will lead to an anchor.
 */
export async function readBundle(
  { store }: Deps,
  id: string,
  viewer: Viewer,
  format?: '1',
): Promise<Answer<'getBundle'>['body']> {
  const found = await store.getBundle(id, viewer);
  if (found === null) throw taskNotFound();
  const completion = completionOf(found.task);
  const { receipt, proofHash } = completion;
  if (completion.state === 'failed') {
    const message = 'The chain refused the anchor of this task. Complete the task again.';
    throw wireError('not_found', message);
  }
  if (receipt === null || found.mined === null || receipt.finality === 'reorged') {
    const message = `The anchor is not in a block yet. Poll GET /api/v1/tasks/${id}`;
    throw wireError('completion_in_progress', message, { details: { proof_hash: proofHash } });
  }
  const { chainProof } = found.mined;
  const bundle = {
    chain_id: receipt.chainId,
    task: { id, robot_id: found.task.robotId, robot_name: found.robotName },
    claim: claimOf(found.task),
    ...(found.proof === null ? {} : { proof: JSON.parse(found.proof) }),
    proof_hash: proofHash,
    inclusion: receipt.inclusion,
    anchor: viewAnchorPlace({ ...receipt, ...found.mined }),
  };
  if (found.signing !== null) {
    const signing = await viewSigning(store, found.signing);
    return { format: 'svc-bundle/3', ...bundle, ...viewChainProof(chainProof), signing };
  }
  if (chainProof === null || format === '1') return { format: 'svc-bundle/1', ...bundle };
  const { header, nodes } = chainProof;
  return { format: 'svc-bundle/2', ...bundle, chain_proof: { header, nodes: [...nodes] } };
}

function completionOf(task: TaskRecord): CompletionRecord {
  if (task.completion === null) throw noEvidence();
  return task.completion;
}

function noEvidence() {
  return wireError('not_found', 'No evidence was submitted for this task yet.');
}
