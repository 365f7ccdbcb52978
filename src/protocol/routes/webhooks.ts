// Routes of webhooks and their deliveries.
import { Type } from 'typebox';
import { Closed, Patch } from '../fields.ts';
import { limits } from '../limits.ts';
import { Id, PageQuery, page } from '../paging.ts';
import type { Route } from '../route.ts';
import {
  Webhook,
  WebhookDelivery,
  WebhookEvents,
  WebhookSecret,
  WebhookUrl,
  webhookEvents,
} from '../webhooks.ts';

const types = Object.entries(webhookEvents).map(([type, meaning]) => `\`${type}\`: ${meaning}`);
const change = { access: 'session', limit: 'account', maxBody: limits.smallBodyBytes } as const;
const changeById = { ...change, params: Id } as const;

export const webhookRoutes = {
  createWebhook: {
    ...change,
    method: 'POST',
    path: '/api/v1/webhooks',
    summary: 'Create a webhook; only this response contains its secret',
    description: `The service signs messages as Standard Webhooks define it. Types, and their \`data\`: ${types.join('. ')}. An account has at most ${limits.webhooksPerAccount} webhooks; without a grant by the operator in the last 90 days it has ${limits.webhooksUnfunded}, with ${limits.webhookAttemptsUnfunded} attempts per hour.`,
    sessionOnly: true,
    body: Closed({ url: WebhookUrl, events: WebhookEvents }),
    responses: { 201: Closed({ webhook: Webhook, secret: WebhookSecret }) },
    errors: ['webhooks_off', 'webhook_url_refused', 'webhook_limit_reached'],
  },
  listWebhooks: {
    method: 'GET',
    path: '/api/v1/webhooks',
    summary: "List the account's webhooks, newest first",
    access: 'session',
    limit: 'none',
    query: Closed(PageQuery),
    responses: { 200: page(Webhook) },
    errors: [],
  },
  patchWebhook: {
    ...changeById,
    method: 'PATCH',
    path: '/api/v1/webhooks/:id',
    summary: 'Change, enable or disable a webhook',
    description: 'Disabling abandons the messages that wait. Enabling does not send them.',
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
    ...changeById,
    method: 'POST',
    path: '/api/v1/webhooks/:id/rotate-secret',
    summary: 'Replace the secret; for 24 hours messages have signatures of both',
    sessionOnly: true,
    responses: { 200: Closed({ webhook: Webhook, secret: WebhookSecret }) },
    errors: ['not_found', 'webhooks_off'],
  },
  deleteWebhook: {
    ...changeById,
    method: 'DELETE',
    path: '/api/v1/webhooks/:id',
    summary: 'Delete a webhook and the messages that wait',
    responses: { 200: Closed({ deleted: Type.Literal(true) }) },
    errors: ['not_found'],
  },
  testWebhook: {
    ...changeById,
    method: 'POST',
    path: '/api/v1/webhooks/:id/test',
    summary: 'Send a test message to an enabled webhook',
    responses: { 200: Closed({ delivery: WebhookDelivery }) },
    errors: ['not_found', 'webhooks_off'],
  },
  listWebhookDeliveries: {
    method: 'GET',
    path: '/api/v1/webhooks/:id/deliveries',
    summary: 'List the messages of a webhook in the last 7 days, newest first',
    access: 'session',
    limit: 'none',
    params: Id,
    query: Closed(PageQuery),
    responses: { 200: page(WebhookDelivery) },
    errors: ['not_found'],
  },
  replayWebhookDelivery: {
    ...changeById,
    method: 'POST',
    path: '/api/v1/webhook-deliveries/:id/replay',
    summary: 'Send a message again, with the same webhook-id, if its webhook is enabled',
    responses: { 200: Closed({ replayed: Type.Literal(true) }) },
    errors: ['not_found', 'webhooks_off'],
  },
} as const satisfies Record<string, Route>;
