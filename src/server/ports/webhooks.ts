// The store's contract for webhooks, their outbox and the relay that delivers it.
import type { Webhook, WebhookDelivery, WebhookType } from '../../protocol/webhooks.ts';
import type { Actor } from './account.ts';

/** The members are those of the API, with instants. `events`: a JSON array of types. */
export interface WebhookRecord extends Pick<Webhook, 'id' | 'url' | 'disabled_for'> {
  events: string;
  created_at: number;
  failing_since: number | null;
  disabled_at: number | null;
}

export interface NewWebhook extends Pick<WebhookRecord, 'id' | 'url' | 'events' | 'created_at'> {
  wallet: string;
  /** Sealed by core/webhooks/webhooks.ts. */
  secret: Buffer;
}

/** Absent members stay unchanged. A new secret keeps the present one until `oldUntil`. */
export interface WebhookChange {
  url?: string;
  events?: string;
  enabled?: boolean;
  rotation?: { secret: Buffer; oldUntil: number };
}

export interface DeliveryRecord
  extends Omit<WebhookDelivery, 'created_at' | 'attempted_at'>,
    Record<'created_at', number> {
  attempted_at: number | null;
}

/** A webhook with messages to send. */
export interface DueWebhook {
  id: string;
  wallet: string;
}

export interface WebhookToSend {
  url: string;
  secret: Buffer;
  /** Null once the overlap of a rotation is over. */
  old_secret: Buffer | null;
  /** Failed attempts since the last success, and the first of them. */
  failures: number;
  failing_since: number | null;
}

export interface WaitingMessage {
  id: string;
  number: number;
  type: WebhookType;
  /** JSON of the member `data`. */
  data: string;
  created_at: number;
}

/** The result of an attempt. `error` is null after a success. */
export interface Attempt {
  webhookId: string;
  deliveryId: string;
  /** Under which the message was sent. A replay gives it another. */
  number: number;
  status: number | null;
  error: string | null;
  at: number;
}

/** After a failed attempt: when to try again, or why the webhook is disabled. */
export type Retry = { at: number } | { disable: 'failures' };

/**
 * Messages are written in the commits of their facts, for the enabled webhooks of the account that subscribe to the
 * type. Each webhook numbers its messages in the order of the commits, and gets them in this order. Those that have no
 * room are dropped; a message `gap` reports their numbers.
 */
export interface WebhookStore {
  /** False if the account has as many webhooks as it may have. */
  createWebhook(webhook: NewWebhook, by: Actor): Promise<boolean>;
  /** Newest first (ids are UUIDv7). `before` is the last id of the previous page. */
  listWebhooks(wallet: string, limit: number, before: string | null): Promise<WebhookRecord[]>;
  /** Null if the account does not have it. Disabling abandons the messages that wait. */
  changeWebhook(
    id: string,
    change: WebhookChange,
    by: Actor & { wallet: string },
  ): Promise<WebhookRecord | null>;
  /** Deletes its messages first, in small commits. */
  deleteWebhook(id: string, by: Actor & { wallet: string }): Promise<boolean>;
  /** Returns the test that waits, if one does. Null if the account has no enabled webhook with this id. */
  testWebhook(id: string, wallet: string, now: number): Promise<DeliveryRecord | null>;
  /** Newest first; null if the account does not have the webhook. */
  listDeliveries(
    webhookId: string,
    wallet: string,
    limit: number,
    before: string | null,
  ): Promise<DeliveryRecord[] | null>;
  /** Queues the message again with its id. False if the account has no enabled webhook with it. */
  replayDelivery(id: string, wallet: string, now: number): Promise<boolean>;
  /** Deletes at most `limit` messages from before `before` that no longer wait. Returns whether there may be more. */
  deleteDeliveries(before: number, limit: number): Promise<boolean>;

  /**
   * Enabled webhooks whose time has come, the longest waiting first. One that was just enabled or
   * delivered may have no message. `funded`: by a recent grant when their newest message was stored.
   */
  listDueWebhooks(funded: boolean, limit: number, now: number): Promise<DueWebhook[]>;
  /** Null if the webhook is deleted, disabled or deferred. */
  readDueWebhook(id: string, now: number): Promise<WebhookToSend | null>;
  listWaiting(webhookId: string, limit: number): Promise<WaitingMessage[]>;
  /** The webhook is not due until its next message is stored. Changes nothing if one waits. */
  restWebhook(id: string): Promise<void>;
  /** The message is delivered, unless it was replayed during the attempt: then it waits under its new number. */
  recordDelivered(attempt: Attempt): Promise<void>;
  recordFailed(attempt: Attempt, retry: Retry): Promise<void>;
  /** Sends nothing to the webhook before the time of `retry`, or disables it. */
  deferWebhook(id: string, retry: Retry, now: number): Promise<void>;
}
