// Routes of account tokens and of the audit log.
import { Type } from 'typebox';
import { AuditEntry, auditKinds } from '../audit-log.ts';
import { Closed, VisibleText } from '../fields.ts';
import { limits } from '../limits.ts';
import { accountChange, accountDeletion, accountList, type Route } from '../route.ts';
import { AccountToken, TokenScope, TokenSecret } from '../tokens.ts';

export const tokenRoutes = {
  createToken: {
    ...accountChange,
    path: '/api/v1/tokens',
    summary: 'Create an account token for scripts; only this response contains its secret',
    description: `The session must have been opened with a wallet signature. An account has at most ${limits.tokensPerAccount} tokens. Expired tokens do not count.`,
    sessionOnly: true,
    body: Closed({
      name: VisibleText(limits.nameLength),
      scope: TokenScope,
      expires_in_days: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: limits.tokenDaysMax,
          description: `default: ${limits.tokenDays}`,
        }),
      ),
    }),
    responses: { 201: Closed({ token: AccountToken, secret: TokenSecret }) },
    errors: ['wallet_session_required', 'token_limit_reached'],
  },
  listTokens: {
    ...accountList(AccountToken),
    path: '/api/v1/tokens',
    summary: "List the account's tokens that have not expired, newest first",
    sessionOnly: true,
  },
  revokeToken: {
    ...accountDeletion,
    path: '/api/v1/tokens/:id',
    summary: 'Revoke an account token immediately',
    sessionOnly: true,
  },
  listAuditLog: {
    ...accountList(AuditEntry),
    path: '/api/v1/audit-log',
    summary: 'List the newest actions on the account, at most 20 000 of the last year',
    description: `Failed sign-ins of one hour share one entry. The members target_id and detail depend on the kind:\n\n| kind | target_id is the id of | detail |\n|---|---|---|\n${Object.entries(
      auditKinds,
    )
      .map(([kind, [target, detail]]) => `| \`${kind}\` | ${target ?? '–'} | ${detail ?? '–'} |`)
      .join('\n')}`,
  },
} as const satisfies Record<string, Route>;
