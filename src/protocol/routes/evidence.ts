// Routes of evidence and bundles.
import { Type } from 'typebox';
import { Bundle } from '../bundle.ts';
import { Closed, Hash } from '../fields.ts';
import { limits } from '../limits.ts';
import { Id } from '../paging.ts';
import { Proof } from '../resources.ts';
import type { Route } from '../route.ts';

/** What was handed in, for its robot and its account; never public. */
export const evidenceRoutes = {
  getProof: {
    method: 'GET',
    path: '/api/v1/tasks/:id/proof',
    summary: 'Read the evidence of a task as it was handed in',
    description:
      'Never public. 404 once it was erased; the message says so, and `proof_hash` stays.',
    access: 'robot_or_session',
    limit: 'robot',
    params: Id,
    responses: { 200: Closed({ proof: Proof, proof_hash: Hash }) },
    errors: ['not_found'],
  },
  eraseProof: {
    method: 'DELETE',
    path: '/api/v1/tasks/:id/proof',
    summary: 'Erase the evidence of a task; its hash and its receipt stay',
    description: 'May be repeated. An anchor under way goes on.',
    access: 'session',
    limit: 'account',
    params: Id,
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
  getBundle: {
    method: 'GET',
    path: '/api/v1/tasks/:id/bundle',
    summary: 'Read everything that proves a task to anybody who has a node of the chain',
    description:
      'Without `proof` where the evidence was erased. 409 `completion_in_progress` while the anchor is on its way, 404 where no completion leads to one.',
    access: 'robot_or_session',
    limit: 'robot',
    params: Id,
    responses: { 200: Bundle },
    errors: ['not_found', 'completion_in_progress'],
  },
} as const satisfies Record<string, Route>;
