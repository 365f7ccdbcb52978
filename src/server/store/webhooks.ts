// Stores webhooks, the log of their deliveries, and what the relay does with it, on either database.

import type { AuditKind } from '../../protocol/audit-log.ts';
import { limits } from '../../protocol/limits.ts';
import type { Actor } from '../ports/account.ts';
import type {
  Attempt,
  DeliveryRecord,
  DueWebhook,
  Retry,
  WaitingMessage,
  WebhookChange,
  WebhookRecord,
  WebhookStore,
  WebhookToSend,
} from '../ports/webhooks.ts';
import { FUNDED_MS } from '../rules/storage.ts';
import { LONGEST_DEFERRAL_MS, LONGEST_PAUSE_MS } from '../rules/webhooks.ts';
import { recordAudit } from './audit-log.ts';
import {
  first,
  LAST_ID,
  lock,
  lockRows,
  rows,
  type StepRunner,
  type Steps,
  some,
} from './engine/steps.ts';
import { isFundedSince } from './storage-usage.ts';
import { disable, enqueue, NEVER, outboxSql, reportGap } from './webhook-outbox.ts';

/** So that a commit does not delay others. */
const ROWS_PER_COMMIT = 500;

const COLUMNS = 'id, url, events, created_at, failing_since, disabled_at, disabled_for';
const DELIVERY = 'id, type, state, attempts, last_status, last_error, created_at, attempted_at';

/** The next attempt is later than any wait lasts: its time is of a clock that was ahead, and has come. */
const isWrong = {
  failing: (now: string) =>
    `failures > 0 AND next_at > CAST(${now} AS bigint) + ${LONGEST_PAUSE_MS}`,
  // Only accounts without a grant have a limit of attempts.
  healthy: (now: string, funded: string) =>
    `failures = 0 AND next_at > CAST(${now} AS bigint) + (1 - ${funded}) * ${LONGEST_DEFERRAL_MS}`,
};
/** At most $3 of the webhooks of one kind, in the order of the index. */
const dueBy = (condition: string) => `SELECT * FROM (SELECT id, wallet FROM webhooks w
    WHERE funded = $2 AND ${condition} AND next_at < ${NEVER} AND NOT EXISTS (SELECT 1 FROM accounts a
      WHERE a.wallet = w.wallet AND coalesce(a.suspended_at, a.deleting_at) IS NOT NULL)
    ORDER BY next_at LIMIT $3) AS due`;

export const webhookSql = {
  count: `SELECT count(*) AS used,
      CASE WHEN ${isFundedSince('$2', '$1')} THEN 1 ELSE 0 END AS funded
    FROM webhooks WHERE wallet = $1`,
  create: `INSERT INTO webhooks (id, wallet, url, events, secret, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)`,
  list: `SELECT ${COLUMNS} FROM webhooks WHERE wallet = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
  update: `UPDATE webhooks SET url = coalesce($3, url), events = coalesce($4, events)
    WHERE id = $1 AND wallet = $2 RETURNING ${COLUMNS}`,
  rotate: 'UPDATE webhooks SET old_secret = secret, old_until = $2, secret = $3 WHERE id = $1',
  enable: `UPDATE webhooks SET disabled_at = NULL, disabled_for = NULL, failures = 0,
      failing_since = NULL, next_at = 0 WHERE id = $1 AND disabled_at IS NOT NULL`,
  remove: 'DELETE FROM webhooks WHERE id = $1 AND wallet = $2 RETURNING url',
  empty: `DELETE FROM webhook_deliveries WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE webhook_id = $1 LIMIT $2) RETURNING id`,
  find: 'SELECT id, disabled_at FROM webhooks WHERE id = $1 AND wallet = $2',
  test: `SELECT ${DELIVERY} FROM webhook_deliveries
    WHERE webhook_id = $1 AND state = 'pending' AND type = 'test' LIMIT 1`,
  place: 'SELECT number FROM webhook_deliveries WHERE id = $1 AND webhook_id = $2',
  deliveries: `SELECT ${DELIVERY} FROM webhook_deliveries
    WHERE webhook_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3`,
  ofDelivery: `SELECT id FROM webhooks WHERE id = (SELECT webhook_id FROM webhook_deliveries WHERE id = $1)
    AND wallet = $2 AND disabled_at IS NULL FOR NO KEY UPDATE`,
  next: `UPDATE webhooks SET last_number = last_number + 1,
      next_at = CASE WHEN next_at = ${NEVER} THEN $2 ELSE next_at END
    WHERE id = $1 RETURNING last_number`,
  replay: `UPDATE webhook_deliveries SET state = 'pending', number = $2 WHERE id = $1 RETURNING id`,
  // The state twice: a replay may commit between the query and the deletion.
  expire: `DELETE FROM webhook_deliveries WHERE state <> 'pending' AND id IN (
      SELECT id FROM webhook_deliveries WHERE state <> 'pending' AND created_at < $1
      ORDER BY created_at LIMIT $2)
    RETURNING id`,
  locked: 'SELECT id FROM webhooks WHERE id = $1 FOR UPDATE',
  rest: `UPDATE webhooks SET next_at = ${NEVER} WHERE id = $1 AND NOT EXISTS (SELECT 1
    FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending')`,
  due: [isWrong.failing('$1'), isWrong.healthy('$1', '$2'), 'next_at <= $1']
    .map(dueBy)
    .join(' UNION ALL '),
  open: `SELECT url, secret, CASE WHEN old_until > $2 THEN old_secret END AS old_secret,
      failures, failing_since
    FROM webhooks WHERE id = $1 AND next_at < ${NEVER}
      AND (next_at <= $2 OR ${isWrong.failing('$2')} OR ${isWrong.healthy('$2', 'funded')})`,
  waiting: `SELECT id, number, type, data, created_at FROM webhook_deliveries
    WHERE webhook_id = $1 AND state = 'pending' ORDER BY number LIMIT $2`,
  tried: `UPDATE webhook_deliveries SET attempts = attempts + 1, last_status = $2, last_error = $3,
      attempted_at = $4 WHERE id = $1`,
  delivered: `UPDATE webhook_deliveries SET state = 'delivered'
    WHERE id = $1 AND number = $2`,
  succeed: `UPDATE webhooks SET failures = 0, failing_since = NULL, next_at = 0
    WHERE id = $1 AND failures > 0 AND disabled_at IS NULL`,
  fail: `UPDATE webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, $2)
    WHERE id = $1`,
  pause: 'UPDATE webhooks SET next_at = $2 WHERE wallet = $1 AND disabled_at IS NULL',
  defer: 'UPDATE webhooks SET next_at = $2 WHERE id = $1 AND disabled_at IS NULL',
} as const;

export function webhookStore({ read, write }: StepRunner): Omit<WebhookStore, 'holdRelay'> {
  return {
    createWebhook: (webhook, by) =>
      write(function* () {
        const { id, wallet, url, events, secret, created_at: at } = webhook;
        yield* lock(wallet);
        type Count = { used: number; funded: 0 | 1 };
        const found = yield* first<Count>(webhookSql.count, wallet, at - FUNDED_MS);
        const max = found?.funded ? limits.webhooksPerAccount : limits.webhooksWithoutGrant;
        if ((found?.used ?? 0) >= max) return false;
        yield* rows(webhookSql.create, id, wallet, url, events, secret, at);
        yield* record('webhook_created', { ...by, wallet }, id, url);
        return true;
      }),
    listWebhooks: (wallet, limit, before) =>
      read(() => rows<WebhookRecord>(webhookSql.list, wallet, before ?? LAST_ID, limit)),
    changeWebhook: (id, change, by) => write(() => changeWebhook(id, change, by)),
    async deleteWebhook(id, by) {
      const found = await write(function* () {
        if ((yield* rows(webhookSql.find, id, by.wallet)).length === 0) return false;
        yield* rows(outboxSql.disable, id, by.at, 'owner');
        return true;
      });
      if (!found) return false;
      let deleted: number;
      do deleted = (await write(() => rows(webhookSql.empty, id, ROWS_PER_COMMIT))).length;
      while (deleted === ROWS_PER_COMMIT);
      return write(function* () {
        const [gone] = yield* rows<{ url: string }>(webhookSql.remove, id, by.wallet);
        if (gone !== undefined) yield* record('webhook_deleted', by, id, gone.url);
        return gone !== undefined;
      });
    },
    testWebhook: (id, wallet, now) =>
      write(function* () {
        const [webhook] = yield* rows<{ disabled_at: number | null }>(webhookSql.find, id, wallet);
        if (webhook?.disabled_at !== null) return null;
        const [waiting] = yield* rows<DeliveryRecord>(webhookSql.test, id);
        if (waiting !== undefined) return waiting;
        yield* enqueue(id, [{ type: 'test', data: {} }], now);
        return (yield* first<DeliveryRecord>(webhookSql.test, id)) ?? null;
      }),
    listDeliveries: (webhookId, wallet, limit, before) =>
      read(function* () {
        if ((yield* rows(webhookSql.find, webhookId, wallet)).length === 0) return null;
        const [place] =
          before === null
            ? [{ number: Number.MAX_SAFE_INTEGER }]
            : yield* rows<{ number: number }>(webhookSql.place, before, webhookId);
        const values = [webhookId, place?.number ?? 0, limit];
        return yield* rows<DeliveryRecord>(webhookSql.deliveries, ...values);
      }),
    replayDelivery: (id, wallet, now) =>
      write(function* () {
        const webhook = yield* first<{ id: string }>(webhookSql.ofDelivery, id, wallet);
        if (webhook === undefined) return false;
        // Its new number must not be reported as missing.
        yield* reportGap(webhook.id, now);
        const next = yield* first<{ last_number: number }>(webhookSql.next, webhook.id, now);
        return next !== undefined && (yield* some(webhookSql.replay, id, next.last_number));
      }),
    deleteDeliveries: async (before, limit) =>
      (await write(() => rows(webhookSql.expire, before, limit))).length === limit,

    listDueWebhooks: (funded, limit, now) =>
      read(() => rows<DueWebhook>(webhookSql.due, now, Number(funded), limit)),
    readDueWebhook: async (id, now) =>
      (await read(() => rows<WebhookToSend>(webhookSql.open, id, now)))[0] ?? null,
    listWaiting: (webhookId, limit) =>
      read(() => rows<WaitingMessage>(webhookSql.waiting, webhookId, limit)),
    restWebhook: (id) =>
      write(function* () {
        yield* lockRows(webhookSql.locked, id);
        yield* rows(webhookSql.rest, id);
      }),
    recordDelivered: (attempt) =>
      write(function* () {
        yield* recordAttempt(attempt);
        yield* rows(webhookSql.delivered, attempt.deliveryId, attempt.number);
        yield* rows(webhookSql.succeed, attempt.webhookId);
        yield* reportGap(attempt.webhookId, attempt.at);
      }),
    recordFailed: (attempt, retry) =>
      write(function* () {
        yield* recordAttempt(attempt);
        yield* rows(webhookSql.fail, attempt.webhookId, attempt.at);
        yield* defer(attempt.webhookId, retry, attempt.at);
      }),
    deferWebhook: (id, retry, now) => write(() => defer(id, retry, now)),
  };
}

function* changeWebhook(
  id: string,
  { url, events, enabled, rotation }: WebhookChange,
  by: Actor & { wallet: string },
): Steps<WebhookRecord | null> {
  const update = () =>
    rows<WebhookRecord>(webhookSql.update, id, by.wallet, url ?? null, events ?? null);
  const [found] = yield* update();
  if (found === undefined) return null;
  if (rotation) yield* rows(webhookSql.rotate, id, rotation.oldUntil, rotation.secret);
  if (enabled === true) yield* rows(webhookSql.enable, id);
  if (enabled === false) yield* disable(id, 'owner', by.at);
  yield* record(rotation ? 'webhook_secret_rotated' : 'webhook_changed', by, id, found.url);
  return (yield* update())[0] ?? null;
}

function* defer(id: string, retry: Retry, now: number): Steps<void> {
  if ('disable' in retry) yield* disable(id, retry.disable, now);
  else yield* rows(webhookSql.defer, id, retry.at);
}

/** While an account is suspended, none of its webhooks is due. */
export function* pauseWebhooks(wallet: string, isPaused: boolean): Steps<void> {
  yield* rows(webhookSql.pause, wallet, isPaused ? NEVER : 0);
}

function* recordAttempt({ webhookId, deliveryId, status, error, at }: Attempt): Steps<void> {
  // First, as in every other write of both: else two writes could wait for each other.
  yield* lockRows(webhookSql.locked, webhookId);
  yield* rows(webhookSql.tried, deliveryId, status, error, at);
}

function record(
  kind: AuditKind,
  { wallet, ...by }: Actor & { wallet: string },
  id: string,
  url: string,
): Steps<void> {
  // Path and query of a URL may have a token.
  const detail = new URL(url).origin;
  return recordAudit(wallet, kind, by, { target_id: id, detail });
}
