// Routes of the account, its ledger and its sessions.
import { Type } from 'typebox';
import { Account, LedgerEntry, Session } from '../account.ts';
import { Closed } from '../fields.ts';
import { limits } from '../limits.ts';
import { Id, PageQuery, PeriodQuery, page, SealedCursor } from '../paging.ts';
import type { Route } from '../route.ts';
import { Signature } from './sign-in.ts';

export const accountRoutes = {
  getAccount: {
    method: 'GET',
    path: '/api/v1/me',
    summary: 'Read the signed-in account: its credits, and the usage of its limits',
    access: 'session',
    limit: 'none',
    responses: { 200: Account },
    errors: [],
  },
  deleteAccount: {
    method: 'DELETE',
    path: '/api/v1/me',
    summary:
      'Delete the account with all that it stored, after the wallet signed a challenge for it. Credits, the ledger and what the chain holds stay',
    access: 'session',
    sessionOnly: true,
    limit: 'account',
    body: Closed({
      signature: Signature,
      message: Type.String({
        maxLength: limits.messageLength,
        description: 'the signed challenge, made with the purpose delete_account',
      }),
    }),
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ deleting: Type.Literal(true) }) },
    errors: ['invalid_signature', 'chain_unavailable', 'overloaded'],
  },
  listLedger: {
    method: 'GET',
    path: '/api/v1/credits/ledger',
    summary: "List the changes of the account's credits, newest first",
    access: 'session',
    limit: 'none',
    query: Closed({ ...PageQuery, ...PeriodQuery, cursor: Type.Optional(SealedCursor) }),
    responses: { 200: page(LedgerEntry) },
    errors: [],
  },
  listSessions: {
    method: 'GET',
    path: '/api/v1/sessions',
    summary: "List the account's active sessions, newest first",
    access: 'session',
    sessionOnly: true,
    limit: 'none',
    query: Closed(PageQuery),
    responses: { 200: page(Session) },
    errors: [],
  },
  revokeSession: {
    method: 'DELETE',
    path: '/api/v1/sessions/:id',
    summary: "Revoke one of the account's sessions immediately",
    access: 'session',
    sessionOnly: true,
    limit: 'account',
    params: Id,
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
} as const satisfies Record<string, Route>;
