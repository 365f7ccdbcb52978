// Routes of alerts and their rules.
import { Type } from 'typebox';
import { Alert, AlertKind, AlertRule } from '../alerts.ts';
import { Closed } from '../fields.ts';
import { limits } from '../limits.ts';
import { Id, PageQuery, page } from '../paging.ts';
import type { Route } from '../route.ts';

const change = { access: 'session', limit: 'account', maxBody: limits.smallBodyBytes } as const;

export const alertRoutes = {
  listAlertRules: {
    method: 'GET',
    path: '/api/v1/alert-rules',
    summary: "List the account's alert rules",
    access: 'session',
    limit: 'none',
    responses: { 200: Closed({ rules: Type.Array(AlertRule) }) },
    errors: [],
  },
  saveAlertRule: {
    ...change,
    method: 'POST',
    path: '/api/v1/alert-rules',
    summary: 'Create the alert rule of a kind, or change its threshold',
    description:
      'The service evaluates all rules every 30 s. An alert closes when its rule no longer holds.',
    body: AlertRule,
    responses: { 200: Closed({ rule: AlertRule }) },
    errors: [],
  },
  deleteAlertRule: {
    ...change,
    method: 'DELETE',
    path: '/api/v1/alert-rules/:kind',
    summary: 'Delete the alert rule of a kind; its open alerts close',
    params: Closed({ kind: AlertKind }),
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
  listAlerts: {
    method: 'GET',
    path: '/api/v1/alerts',
    summary: "List the account's alerts of the last year, newest first",
    access: 'session',
    limit: 'none',
    query: Closed({
      ...PageQuery,
      open: Type.Optional(Type.Literal('true', { description: 'only open alerts' })),
    }),
    responses: { 200: page(Alert) },
    errors: [],
  },
  acknowledgeAlert: {
    ...change,
    method: 'POST',
    path: '/api/v1/alerts/:id/acknowledge',
    summary: 'Acknowledge an alert',
    params: Id,
    responses: { 200: Closed({ alert: Alert }) },
    errors: ['not_found'],
  },
} as const satisfies Record<string, Route>;
