// Schemas of webhooks and their deliveries.
import { type Static, Type } from 'typebox';
import { Closed, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

/** What a webhook can subscribe to, by type: the meaning of a message, and its `data`. Add new types here. */
export const webhookEvents = {
  'task.verified':
    'the anchor of a task was confirmed; sent again if a reorganization moves the anchor to another block. Data: task_id, robot_id, proof_hash, chain_id, tx_hash, block_number',
  'task.failed': 'the anchor of a task failed. Data: task_id, robot_id, reason',
  'task.refused':
    'a completion was refused for lack of credit; sent once per task. Data: task_id, robot_id, reason',
  'event.created': 'a robot reported an event. Data: id, robot_id, event_type, severity, message',
  'alert.opened': 'an alert opened. Data: id, kind, threshold, robot_id',
  'alert.closed': 'an alert closed. Data: id, kind, threshold, robot_id',
} as const;

/**
 * `test` messages go to one webhook on request. A `gap` reports the numbers of messages that had no room, from `first` to
 * `last`. Both come whatever the webhook subscribes to.
 */
export type WebhookType = keyof typeof webhookEvents | 'test' | 'gap';

const eventTypes = Object.keys(webhookEvents) as (keyof typeof webhookEvents)[];

export const WebhookEvents = Type.Array(OneOf(eventTypes), {
  minItems: 1,
  uniqueItems: true,
  description: 'the types of messages that the webhook gets',
});

export const WebhookUrl = Type.String({
  maxLength: 2000,
  format: 'uri',
  pattern: '^(https://|http://(127\\.0\\.0\\.1|\\[::1\\])([:/]|$))',
  description:
    'an https URL of a public address, without credentials. Only svc-server dev also accepts http://127.0.0.1 and http://[::1]',
  examples: ['https://ops.example.org/svc'],
});

export const WebhookSecret = Type.String({
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  description: 'whsec_ and 32 bytes in base64; signs the messages',
  examples: [`whsec_${'c2Vj'.repeat(10)}c2U=`],
});

export const Webhook = Closed({
  id: Uuid,
  url: Type.String(),
  events: WebhookEvents,
  created_at: Timestamp,
  failing_since: Nullable(Timestamp),
  disabled_at: Nullable(Timestamp),
  disabled_for: Nullable(
    OneOf(
      ['owner', 'failures', 'backlog'],
      'disabled by the owner, after 3 days of failures, or with too many messages waiting',
    ),
  ),
});
export type Webhook = Static<typeof Webhook>;

export const WebhookDelivery = Closed({
  id: Type.String({
    ...Uuid,
    description: 'the webhook-id of the message, the same in each attempt',
  }),
  type: OneOf<WebhookType>([...eventTypes, 'test', 'gap']),
  state: OneOf(['pending', 'delivered', 'abandoned'], 'abandoned: the webhook was disabled first'),
  attempts: Type.Integer({ minimum: 0 }),
  last_status: Nullable(Type.Integer({ description: 'HTTP status of the last attempt' })),
  last_error: Nullable(Type.String()),
  created_at: Timestamp,
  attempted_at: Nullable(Timestamp),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;
