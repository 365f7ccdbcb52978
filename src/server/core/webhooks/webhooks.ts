// Webhooks of an account: their secrets, messages and deliveries.
import { createHmac, randomBytes } from 'node:crypto';
import { v7 as newId } from 'uuid';
import { open, seal } from '../../../base/aes-gcm.ts';
import { readPrivateFile } from '../../../base/private-file.ts';
import { SvcError } from '../../../base/svc-error.ts';
import { limits } from '../../../protocol/limits.ts';
import type { Answer, Body, Query } from '../../../protocol/routes.ts';
import { formatIfAny, formatTimestamp } from '../../../protocol/timestamp.ts';
import type { Webhook, WebhookDelivery } from '../../../protocol/webhooks.ts';
import { wireError } from '../../ports/errors.ts';
import type { AccountCaller } from '../../ports/sign-in.ts';
import type {
  DeliveryRecord,
  WaitingMessage,
  WebhookChange,
  WebhookRecord,
} from '../../ports/webhooks.ts';
import { refusalOfUrl } from '../../rules/webhooks.ts';
import { type Deps, deleted } from '../deps.ts';
import type { Page } from '../paging.ts';
import { pageById } from '../paging.ts';

type WithSecret = Answer<'createWebhook'>['body'];

/** Reads the key that seals secrets. Rejects with SvcError `invalid_webhook_key`; the error never quotes the key. */
export async function loadWebhookKey(file: string): Promise<Buffer> {
  const code = 'invalid_webhook_key';
  const text = (await readPrivateFile(file, 'SVC_WEBHOOK_KEY_FILE', code)).trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  throw new SvcError(code, `SVC_WEBHOOK_KEY_FILE ${file} must have 64 hex digits.`, {
    hint: 'Create one with: (umask 077; openssl rand -hex 32 > webhook.key)',
  });
}

/** Creates a webhook. Throws `webhooks_off`, `webhook_url_refused` and `webhook_limit_reached`. */
export async function createWebhook(
  deps: Deps,
  { wallet, by }: AccountCaller,
  { url, events }: Body<'createWebhook'>,
): Promise<WithSecret> {
  const key = requireKey(deps, wallet, url);
  const [id, secret] = [newId(), randomBytes(32)];
  const record = { id, url, events: JSON.stringify(events), created_at: deps.clock.now() };
  const sealed = seal(key, id, secret);
  if (!(await deps.store.createWebhook({ ...record, wallet, secret: sealed }, by))) {
    const message = `An account can have at most ${limits.webhooksPerAccount} webhooks, and ${limits.webhooksWithoutGrant} without a grant by the operator in the last 90 days.`;
    throw wireError('webhook_limit_reached', message);
  }
  const webhook = { ...record, failing_since: null, disabled_at: null, disabled_for: null };
  return { webhook: viewWebhook(webhook), secret: secretText(secret) };
}

/** One page of the account's webhooks, newest first. */
export function listWebhooks({ store }: Deps, wallet: string, query: Query<'listWebhooks'>) {
  return pageById(query, (...page) => store.listWebhooks(wallet, ...page), viewWebhook);
}

/** Throws `not_found`, `webhooks_off` and `webhook_url_refused`. */
export async function patchWebhook(
  deps: Deps,
  caller: AccountCaller,
  id: string,
  { events, ...change }: Body<'patchWebhook'>,
): Promise<{ webhook: Webhook }> {
  requireKey(deps, caller.wallet, change.url);
  const texts = events && { events: JSON.stringify(events) };
  return { webhook: await changed(deps, caller, id, { ...change, ...texts }) };
}

/** Replaces the secret. Throws `not_found` and `webhooks_off`. */
export async function rotateSecret(deps: Deps, caller: AccountCaller, id: string) {
  const secret = randomBytes(32);
  const oldUntil = deps.clock.now() + limits.webhookOverlapMs;
  const key = requireKey(deps, caller.wallet);
  const rotation = { secret: seal(key, id, secret), oldUntil };
  return { webhook: await changed(deps, caller, id, { rotation }), secret: secretText(secret) };
}

/** Throws `not_found`. */
export async function deleteWebhook({ store }: Deps, { wallet, by }: AccountCaller, id: string) {
  if (!(await store.deleteWebhook(id, { ...by, wallet }))) throw webhookNotFound();
  return deleted;
}

/** Queues a test message. Throws `not_found` and `webhooks_off`. */
export async function testWebhook(deps: Deps, wallet: string, id: string) {
  requireKey(deps, wallet);
  const delivery = await deps.store.testWebhook(id, wallet, deps.clock.now());
  if (delivery === null) throw webhookNotFound();
  return { delivery: viewDelivery(delivery) };
}

/** One page of the webhook's messages, newest first. Throws `not_found`. */
export function listDeliveries(
  { store }: Deps,
  wallet: string,
  id: string,
  query: Query<'listWebhookDeliveries'>,
): Promise<Page<WebhookDelivery>> {
  const find = async (count: number, cursor: string | null) => {
    const found = await store.listDeliveries(id, wallet, count, cursor);
    if (found === null) throw webhookNotFound();
    return found;
  };
  return pageById(query, find, viewDelivery);
}

/** Throws `not_found` and `webhooks_off`. */
export async function replayDelivery(deps: Deps, wallet: string, id: string): Promise<void> {
  requireKey(deps, wallet);
  if (await deps.store.replayDelivery(id, wallet, deps.clock.now())) return;
  throw wireError('not_found', 'No enabled webhook of this account has a message with this id.');
}

/**
 * Headers and body of a message by Standard Webhooks, with a signature of each sealed secret, the current one first.
 * Throws if the key does not open the current secret.
 */
export function signedMessage(
  key: Buffer,
  webhookId: string,
  sealed: readonly Buffer[],
  { id, number, type, data, created_at }: WaitingMessage,
  now: number,
): { headers: Record<string, string>; body: string } {
  const timestamp = formatTimestamp(created_at);
  const body = `{"type":"${type}","timestamp":"${timestamp}","number":${number},"data":${data}}`;
  const seconds = String(Math.floor(now / 1000));
  const signatures = sealed.flatMap((one, index) => {
    try {
      const hmac = createHmac('sha256', open(key, webhookId, one));
      return [`v1,${hmac.update(`${id}.${seconds}.${body}`).digest('base64')}`];
    } catch (error) {
      // The key of an old secret may be lost.
      if (index === 0) throw error;
      return [];
    }
  });
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'svc-webhooks',
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  };
  return { headers, body };
}

function secretText(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

/** The key, if webhooks are on and accept the URL for this wallet. */
function requireKey({ webhooks }: Deps, wallet: string, url?: string): Buffer {
  if (webhooks === null) {
    const message = 'Webhooks are off: the operator has not set SVC_WEBHOOK_KEY_FILE.';
    throw wireError('webhooks_off', message);
  }
  const { ruleOf, localHttp } = webhooks;
  const refusal = url === undefined ? null : refusalOfUrl(url, ruleOf(wallet), localHttp);
  if (refusal === null) return webhooks.key;
  throw wireError('webhook_url_refused', `The URL of the webhook is refused: ${refusal}.`);
}

async function changed(
  { store }: Deps,
  { wallet, by }: AccountCaller,
  id: string,
  change: WebhookChange,
): Promise<Webhook> {
  const webhook = await store.changeWebhook(id, change, { ...by, wallet });
  if (webhook === null) throw webhookNotFound();
  return viewWebhook(webhook);
}

function webhookNotFound() {
  return wireError('not_found', 'This account has no webhook with this id, or it is disabled.');
}

function viewWebhook({ events, ...webhook }: WebhookRecord): Webhook {
  return {
    ...webhook,
    events: JSON.parse(events),
    created_at: formatTimestamp(webhook.created_at),
    failing_since: formatIfAny(webhook.failing_since),
    disabled_at: formatIfAny(webhook.disabled_at),
  };
}

function viewDelivery(delivery: DeliveryRecord): WebhookDelivery {
  return {
    ...delivery,
    created_at: formatTimestamp(delivery.created_at),
    attempted_at: formatIfAny(delivery.attempted_at),
  };
}
