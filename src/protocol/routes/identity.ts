// Routes of the keys that robots sign with, and of their statements (docs/statements.md).
import { Type } from 'typebox';
import { Closed, Hash, Nullable, OneOf } from '../fields.ts';
import {
  KeyText,
  Kid,
  PublicKey,
  SignedDocument,
  SigningIdentity,
  StatementCursor,
  StatementItem,
} from '../identity.ts';
import { limits } from '../limits.ts';
import { PageQuery, page } from '../paging.ts';
import { accountChangeById, accountReadById, type Route, robotChange } from '../route.ts';

export const identityRoutes = {
  proposeKey: {
    ...robotChange,
    path: '/api/v1/identity',
    summary:
      'Propose the public key that the calling robot signs with, and read whether the owner has signed it. Repeating it changes nothing',
    maxBody: limits.smallBodyBytes,
    body: Closed({ public_key: PublicKey }),
    isRead: true,
    responses: { 200: Closed({ identity: SigningIdentity }) },
    errors: ['invalid_key'],
  },
  getIdentity: {
    ...accountReadById,
    path: '/api/v1/robots/:id/identity',
    summary: 'Read the keys that a robot signs with, and the key that it proposes',
    responses: { 200: Closed({ identity: SigningIdentity }) },
  },
  signKeyText: {
    ...accountChangeById,
    path: '/api/v1/robots/:id/identity',
    summary:
      'Put a key of a robot into use or out of use, with a text that the wallet of the account has signed (docs/statements.md). Repeating it changes nothing',
    body: KeyText,
    responses: { 200: Closed({ identity: SigningIdentity }) },
    errors: [
      'not_found',
      'invalid_key_text',
      'invalid_signature',
      'chain_unavailable',
      'storage_quota',
    ],
  },
  sendStatements: {
    ...robotChange,
    path: '/api/v1/statements',
    summary:
      'Store statements of the calling robot without their tasks, in any order, for example after a restored backup',
    maxBody: limits.smallBodyBytes,
    body: Closed({
      statements: Type.Array(SignedDocument, {
        minItems: 1,
        maxItems: limits.statementsPerRequest,
      }),
    }),
    responses: {
      200: Closed({
        statements: Type.Array(
          Closed({
            signed_hash: Nullable(Hash),
            outcome: OneOf(
              ['stored', 'repeated', 'conflict', 'invalid'],
              'conflict: stored as well, but another statement has the same number and epoch',
            ),
            message: Nullable(Type.String({ description: 'why a statement is invalid' })),
          }),
        ),
      }),
    },
    errors: ['storage_quota'],
  },
  listStatements: {
    ...accountReadById,
    path: '/api/v1/robots/:id/statements',
    summary: 'List the statements of one key of a robot, in the order of their numbers',
    query: Closed({ limit: PageQuery.limit, kid: Kid, cursor: Type.Optional(StatementCursor) }),
    longAnswer: true,
    responses: { 200: page(StatementItem) },
  },
} as const satisfies Record<string, Route>;
