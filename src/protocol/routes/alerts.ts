// Routes of alerts and their rules.
import { Type } from 'typebox';
import { Alert, AlertKind, AlertRule } from '../alerts.ts';
import { Closed, Uuid } from '../fields.ts';
import { limits } from '../limits.ts';
import { PageQuery, page } from '../paging.ts';
import { accountChange, accountChangeById, accountRead, type Route } from '../route.ts';

export const alertRoutes = {
  listAlertRules: {
    ...accountRead,
    path: '/api/v1/alert-rules',
    summary: "List the account's alert rules",
    responses: { 200: Closed({ rules: Type.Array(AlertRule) }) },
  },
  saveAlertRule: {
    ...accountChange,
    path: '/api/v1/alert-rules',
    summary: 'Create an alert rule, or change the threshold of the existing rule of the same kind',
    description:
      'The service evaluates the rules every 30 s. Under load, those of accounts without a grant in the last 90 days are evaluated less often, normally at least every 10 minutes. An alert closes when the condition of its kind is no longer met.',
    body: AlertRule,
    responses: { 200: Closed({ rule: AlertRule }) },
    errors: ['storage_quota'],
  },
  deleteAlertRule: {
    ...accountChange,
    method: 'DELETE',
    path: '/api/v1/alert-rules/:kind',
    summary:
      'Delete the alert rule of a kind. The open alerts of this kind close at the next evaluation, with two exceptions: webhook_disabled stays open, and credit_low stays open until the credits cover one anchor',
    params: Closed({ kind: AlertKind }),
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
  listAlerts: {
    ...accountRead,
    path: '/api/v1/alerts',
    summary:
      "List the account's open alerts, and the alerts that closed in the last year, newest first",
    query: Closed({
      ...PageQuery,
      open: Type.Optional(Type.Literal('true', { description: 'only open alerts' })),
    }),
    responses: { 200: page(Alert) },
  },
  acknowledgeAlerts: {
    ...accountChange,
    path: '/api/v1/alerts/acknowledge',
    summary: 'Acknowledge several alerts at once. Ids that the account does not have are ignored',
    body: Closed({
      alert_ids: Type.Array(Uuid, { minItems: 1, maxItems: limits.alertsPerRequest }),
    }),
    responses: {
      200: Closed({
        acknowledged: Type.Integer({ minimum: 0, description: 'those that were not before' }),
      }),
    },
  },
  acknowledgeAlert: {
    ...accountChangeById,
    path: '/api/v1/alerts/:id/acknowledge',
    summary: 'Acknowledge an alert',
    responses: { 200: Closed({ alert: Alert }) },
  },
} as const satisfies Record<string, Route>;
