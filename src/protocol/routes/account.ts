// Routes of the account, its ledger and its sessions.
import { Type } from 'typebox';
import { Account, ExportLine, LedgerEntry, Session } from '../account.ts';
import { Closed, Uuid } from '../fields.ts';
import { limits } from '../limits.ts';
import { PageQuery, PeriodQuery, page, SealedCursor } from '../paging.ts';
import { accountChange, accountDeletion, accountList, accountRead, type Route } from '../route.ts';
import { Signature } from './sign-in.ts';

/** What the wallet signs again, so that a stolen session is not enough. */
const signedAgain = {
  ...accountChange,
  sessionOnly: true,
  body: Closed({
    signature: Signature,
    message: Type.String({
      maxLength: limits.messageLength,
      description: 'the signed challenge, with the purpose of this endpoint',
    }),
  }),
  errors: ['invalid_signature', 'chain_unavailable', 'overloaded'],
} as const;

export const accountRoutes = {
  getAccount: {
    ...accountRead,
    path: '/api/v1/me',
    summary: 'Read the signed-in account: its credits, and the usage of its limits',
    responses: { 200: Account },
  },
  exportAccount: {
    ...signedAgain,
    path: '/api/v1/me/export',
    summary:
      'Export the records of the account. The request needs a challenge with the purpose export_account, signed by the wallet',
    description:
      'The response is JSON lines. The bundle of a verified task is the line after the task. The export leaves out sessions, API keys, account tokens, and the secrets and messages of webhooks. If the export fails after its first line, the connection breaks.',
    isRead: true,
    stream: 'application/jsonl',
    responses: { 200: ExportLine },
  },
  deleteAccount: {
    ...signedAgain,
    method: 'DELETE',
    path: '/api/v1/me',
    summary:
      'Delete the data of the account, except credits, ledger, the counts `anchors_by_day` of getStats, a suspension, the ids of robots and tasks, and the anchors. The request needs a challenge with the purpose delete_account, signed by the wallet. The deletion continues after the response',
    responses: { 200: Closed({ deleting: Type.Literal(true) }) },
  },
  listLedger: {
    ...accountRead,
    path: '/api/v1/credits/ledger',
    summary: "List the changes of the account's credits, newest first",
    description: 'With `task_id`, list only the reservations of this task, each with its cost.',
    query: Closed({
      ...PageQuery,
      ...PeriodQuery,
      task_id: Type.Optional(Uuid),
      cursor: Type.Optional(SealedCursor),
    }),
    responses: { 200: page(LedgerEntry) },
  },
  listSessions: {
    ...accountList(Session),
    path: '/api/v1/sessions',
    summary: "List the account's active sessions, newest first",
    sessionOnly: true,
  },
  revokeSession: {
    ...accountDeletion,
    path: '/api/v1/sessions/:id',
    summary: "Revoke one of the account's sessions immediately",
    sessionOnly: true,
  },
} as const satisfies Record<string, Route>;
