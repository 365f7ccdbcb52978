// Routes of evidence and bundles.
import { Type } from 'typebox';
import { Bundle } from '../bundle.ts';
import { Closed, Hash } from '../fields.ts';
import { Proof } from '../resources.ts';
import { accountDeletion, type Route, taskReadById } from '../route.ts';

/** Submitted evidence, for its robot and its account; never public. */
export const evidenceRoutes = {
  getProof: {
    ...taskReadById,
    path: '/api/v1/tasks/:id/proof',
    summary: 'Read the submitted evidence of a task',
    description:
      'Evidence is never public. If the evidence was erased, the response is 404 with `proof_hash`.',
    responses: { 200: Closed({ proof: Proof, proof_hash: Hash }) },
  },
  eraseProof: {
    ...accountDeletion,
    path: '/api/v1/tasks/:id/proof',
    summary: 'Erase the evidence of a task; the hash of the evidence and the receipt remain',
    description: 'A repeated request changes nothing. A pending anchor continues.',
  },
  getBundle: {
    ...taskReadById,
    path: '/api/v1/tasks/:id/bundle',
    summary:
      'Read the bundle of a task. To verify a bundle, you need only a node of the chain and the address of the anchoring account',
    description:
      'The format is `svc-bundle/2` if its chain proof is stored, otherwise, and with `format=1`, `svc-bundle/1`. If the evidence was erased, it has no `proof`. If the anchor is not in a block yet, or a reorganization removed it, the response is 409 `completion_in_progress`. If the task has no completion, or its anchor failed, the response is 404.',
    query: Closed({ format: Type.Optional(Type.Literal('1')) }),
    responses: { 200: Bundle },
    errors: ['not_found', 'completion_in_progress'],
  },
} as const satisfies Record<string, Route>;
