// Routes of account tokens and of the audit log.
import { Type } from 'typebox';
import { AuditEntry, auditKinds } from '../audit-log.ts';
import { Closed, VisibleText } from '../fields.ts';
import { limits } from '../limits.ts';
import { Id, PageQuery, page } from '../paging.ts';
import type { Route } from '../route.ts';
import { AccountToken, TokenScope, TokenSecret } from '../tokens.ts';

export const tokenRoutes = {
  createToken: {
    method: 'POST',
    path: '/api/v1/tokens',
    summary: 'Create an account token for scripts; only this response contains its secret',
    description: `The session must have been opened with a wallet signature. An account has at most ${limits.tokensPerAccount} tokens. Expired ones do not count.`,
    access: 'session',
    sessionOnly: true,
    limit: 'account',
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
    maxBody: limits.smallBodyBytes,
    responses: { 201: Closed({ token: AccountToken, secret: TokenSecret }) },
    errors: ['wallet_session_required', 'token_limit_reached'],
  },
  listTokens: {
    method: 'GET',
    path: '/api/v1/tokens',
    summary: "List the account's tokens that have not expired, newest first",
    access: 'session',
    sessionOnly: true,
    limit: 'none',
    query: Closed(PageQuery),
    responses: { 200: page(AccountToken) },
    errors: [],
  },
  revokeToken: {
    method: 'DELETE',
    path: '/api/v1/tokens/:id',
    summary: 'Revoke an account token immediately',
    access: 'session',
    sessionOnly: true,
    limit: 'account',
    params: Id,
    maxBody: limits.smallBodyBytes,
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
  listAuditLog: {
    method: 'GET',
    path: '/api/v1/audit-log',
    summary: 'List who did what to the account in the last year, newest first',
    description: `What \`target_id\` and \`detail\` are, by kind: ${Object.entries(auditKinds)
      .map(([kind, meaning]) => `\`${kind}\`: ${meaning}`)
      .join('. ')}.`,
    access: 'session',
    limit: 'none',
    query: Closed(PageQuery),
    responses: { 200: page(AuditEntry) },
    errors: [],
  },
} as const satisfies Record<string, Route>;
