// Routes that anyone may call: verification and the chain.
import { Type } from 'typebox';
import { LeafAnchor } from '../bundle.ts';
import { Closed, Hash, Uuid } from '../fields.ts';
import { AnchorTransaction, ChainDetails, PublicVerification } from '../resources.ts';
import { publicRead, type Route } from '../route.ts';

export const publicRoutes = {
  getChain: {
    ...publicRead,
    path: '/api/chain',
    summary: 'Read the details of the anchoring chain, for wallets',
    cors: true,
    responses: { 200: ChainDetails },
    errors: ['chain_unavailable', 'overloaded'],
  },
  verifyProofHash: {
    ...publicRead,
    path: '/api/v1/verify/:proofHash',
    summary: 'Verify a proof hash: read its anchor from the chain and check this anchor',
    description:
      'Several tasks may have the same evidence: `occurrences` counts them, and `task_id` chooses one. 503 `chain_unavailable` (no provider answers) and 503 `overloaded` (the RPC calls of the service are used up) say nothing about the proof.',
    cors: true,
    params: Closed({
      proofHash: Type.String({
        pattern: '^0x[0-9a-fA-F]{64}$',
        description: '32 bytes as hex with the prefix 0x',
      }),
    }),
    query: Closed({ task_id: Type.Optional(Uuid) }),
    fieldErrors: { proofHash: 'invalid_proof_hash' },
    responses: { 200: PublicVerification },
    errors: ['not_found', 'chain_unavailable', 'overloaded'],
  },
  readAnchorTransaction: {
    ...publicRead,
    path: '/api/v1/transactions/:txHash',
    summary: 'Read an anchoring transaction from the chain',
    description:
      'The response is 404 for a transaction that this service did not sign. To check a receipt against the returned transaction, use `auditAnchor` of `robot-svc/proof`.',
    cors: true,
    params: Closed({
      txHash: Type.String({
        pattern: '^0x[0-9a-fA-F]{64}$',
        description: '32 bytes as hex with the prefix 0x',
      }),
    }),
    responses: { 200: AnchorTransaction },
    errors: ['not_found', 'chain_unavailable', 'overloaded'],
  },
  readLeafAnchor: {
    ...publicRead,
    path: '/api/v1/leaves/:leaf',
    summary: 'Read where the leaf of a promise is anchored',
    description:
      'The response is 404 while the leaf is in no block. A promise has the leaf and the task (docs/statements.md).',
    cors: true,
    params: Closed({ leaf: Hash }),
    query: Closed({ task_id: Uuid }),
    responses: { 200: LeafAnchor },
    errors: ['not_found', 'leaf_not_anchored'],
  },
} as const satisfies Record<string, Route>;
