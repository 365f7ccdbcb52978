// Routes of webhooks and their deliveries.
import { Type } from 'typebox';
import { Closed, Patch } from '../fields.ts';
import { limits } from '../limits.ts';
import { PageQuery, page } from '../paging.ts';
import {
  accountChange,
  accountChangeById,
  accountDeletion,
  accountList,
  accountReadById,
  type Route,
} from '../route.ts';
import {
  Webhook,
  WebhookDelivery,
  WebhookEvents,
  WebhookSecret,
  WebhookUrl,
  webhookEvents,
} from '../webhooks.ts';

const types = Object.entries(webhookEvents).map(
  ([type, meaning]) => `| \`${type}\` | ${meaning.replace('. Data: ', ' | ')} |`,
);

export const webhookRoutes = {
  createWebhook: {
    ...accountChange,
    path: '/api/v1/webhooks',
    summary: 'Create a webhook; only this response contains its secret',
    description: `The service signs messages as Standard Webhooks define it. An account has at most ${limits.webhooksPerAccount} webhooks. An account to which the operator granted no credits in the last 90 days has at most ${limits.webhooksWithoutGrant} webhook and ${limits.webhookAttemptsPerHourWithoutGrant} attempts per hour.\n\n| type | sent when | data |\n|---|---|---|\n${types.join('\n')}`,
    sessionOnly: true,
    body: Closed({ url: WebhookUrl, events: WebhookEvents }),
    responses: { 201: Closed({ webhook: Webhook, secret: WebhookSecret }) },
    errors: ['webhooks_off', 'webhook_url_refused', 'webhook_limit_reached'],
  },
  listWebhooks: {
    ...accountList(Webhook),
    path: '/api/v1/webhooks',
    summary: "List the account's webhooks, newest first",
  },
  patchWebhook: {
    ...accountChangeById,
    method: 'PATCH',
    path: '/api/v1/webhooks/:id',
    summary: 'Change, enable or disable a webhook',
    description: 'Disabling abandons the messages that wait. Enabling does not resend them.',
    sessionOnly: true,
    body: Patch({
      url: Type.Optional(WebhookUrl),
      events: Type.Optional(WebhookEvents),
      enabled: Type.Optional(Type.Boolean()),
    }),
    responses: { 200: Closed({ webhook: Webhook }) },
    errors: ['not_found', 'webhooks_off', 'webhook_url_refused'],
  },
  rotateWebhookSecret: {
    ...accountChangeById,
    path: '/api/v1/webhooks/:id/rotate-secret',
    summary:
      'Replace the secret; for 24 hours, messages have signatures of the old and the new secret',
    sessionOnly: true,
    responses: { 200: Closed({ webhook: Webhook, secret: WebhookSecret }) },
    errors: ['not_found', 'webhooks_off'],
  },
  deleteWebhook: {
    ...accountDeletion,
    path: '/api/v1/webhooks/:id',
    summary: 'Delete a webhook and the messages that wait',
  },
  testWebhook: {
    ...accountChangeById,
    path: '/api/v1/webhooks/:id/test',
    summary: 'Send a test message to an enabled webhook',
    responses: { 200: Closed({ delivery: WebhookDelivery }) },
    errors: ['not_found', 'webhooks_off'],
  },
  listWebhookDeliveries: {
    ...accountReadById,
    path: '/api/v1/webhooks/:id/deliveries',
    summary: 'List the messages of a webhook in the last 7 days, newest first',
    query: Closed(PageQuery),
    responses: { 200: page(WebhookDelivery) },
  },
  replayWebhookDelivery: {
    ...accountChangeById,
    path: '/api/v1/webhook-deliveries/:id/replay',
    summary: 'Send a message again with the same header webhook-id, if its webhook is enabled',
    responses: { 200: Closed({ replayed: Type.Literal(true) }) },
    errors: ['not_found', 'webhooks_off'],
  },
} as const satisfies Record<string, Route>;
