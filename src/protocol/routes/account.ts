// Routes of the account, its ledger and its sessions.
import { Type } from 'typebox';
import { Account, LedgerEntry, Session } from '../account.ts';
import { Closed } from '../fields.ts';
import { limits } from '../limits.ts';
import { PageQuery, PeriodQuery, page, SealedCursor } from '../paging.ts';
import { accountChange, accountDeletion, accountRead, type Route } from '../route.ts';
import { Signature } from './sign-in.ts';

export const accountRoutes = {
  getAccount: {
    ...accountRead,
    path: '/api/v1/me',
    summary: 'Read the signed-in account: its credits, and the usage of its limits',
    responses: { 200: Account },
  },
  deleteAccount: {
    ...accountChange,
    method: 'DELETE',
    path: '/api/v1/me',
    summary:
      'Delete the account and all data that it stored. The wallet signs a challenge with the purpose delete_account. Credits, ledger and the data on the chain stay',
    sessionOnly: true,
    body: Closed({
      signature: Signature,
      message: Type.String({
        maxLength: limits.messageLength,
        description: 'the signed challenge, made with the purpose delete_account',
      }),
    }),
    responses: { 200: Closed({ deleting: Type.Literal(true) }) },
    errors: ['invalid_signature', 'chain_unavailable', 'overloaded'],
  },
  listLedger: {
    ...accountRead,
    path: '/api/v1/credits/ledger',
    summary: "List the changes of the account's credits, newest first",
    query: Closed({ ...PageQuery, ...PeriodQuery, cursor: Type.Optional(SealedCursor) }),
    responses: { 200: page(LedgerEntry) },
  },
  listSessions: {
    ...accountRead,
    path: '/api/v1/sessions',
    summary: "List the account's active sessions, newest first",
    sessionOnly: true,
    query: Closed(PageQuery),
    responses: { 200: page(Session) },
  },
  revokeSession: {
    ...accountDeletion,
    path: '/api/v1/sessions/:id',
    summary: "Revoke one of the account's sessions immediately",
    sessionOnly: true,
  },
} as const satisfies Record<string, Route>;
