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
    description: `The service signs messages according to Standard Webhooks. An account has at most ${limits.webhooksPerAccount} webhooks. Without a grant of the operator in the last 90 days, it has at most ${limits.webhooksWithoutGrant} webhook, and the service makes at most ${limits.webhookAttemptsPerHourWithoutGrant} attempts per hour to deliver its messages.\n\n| type | sent when | data |\n|---|---|---|\n${types.join('\n')}`,
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
    description: 'Disabling a webhook abandons its waiting messages for good.',
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
      'Replace the secret of a webhook. For 24 hours, each message has a signature with the old secret and a signature with the new secret',
    sessionOnly: true,
    responses: { 200: Closed({ webhook: Webhook, secret: WebhookSecret }) },
    errors: ['not_found', 'webhooks_off'],
  },
  deleteWebhook: {
    ...accountDeletion,
    path: '/api/v1/webhooks/:id',
    summary: 'Delete a webhook and all its messages',
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
    summary: 'List the messages to a webhook in the last 7 days, newest first',
    query: Closed(PageQuery),
    responses: { 200: page(WebhookDelivery) },
  },
  replayWebhookDelivery: {
    ...accountChangeById,
    path: '/api/v1/webhook-deliveries/:id/replay',
    summary:
      'Send a message of an enabled webhook again, with the same header webhook-id. The message is sent after all messages that wait',
    responses: { 200: Closed({ replayed: Type.Literal(true) }) },
    errors: ['not_found', 'webhooks_off'],
  },
} as const satisfies Record<string, Route>;
