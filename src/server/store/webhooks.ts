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
import type { Db, Tx } from './db/database.ts';
import { lockAccount, onPostgres } from './db/dialect.ts';
import { LAST_ID } from './db/rows.ts';
import { raw, type Sql, sql } from './db/sql.ts';
import { isFundedSince } from './storage-usage.ts';
import {
  disable,
  endSending,
  enqueue,
  NEVER,
  reportGap,
  whileNumbering,
} from './webhook-outbox.ts';

/** So that a commit does not delay others. */
const ROWS_PER_COMMIT = 500;

const COLUMNS = raw('id, url, events, created_at, failing_since, disabled_at, disabled_for');
const DELIVERY = raw(
  'id, type, state, attempts, last_status, last_error, created_at, attempted_at',
);

export function webhookStore({ all, get, run, read, write }: Db): WebhookStore {
  return {
    createWebhook: (webhook, by) =>
      write(async (tx) => {
        const { id, wallet, url, events, secret, created_at: at } = webhook;
        await lockAccount(tx, wallet);
        const { used, funded } = await tx.one<{
          used: number;
          funded: 0 | 1;
        }>(sql`SELECT count(*) AS used,
            CASE WHEN ${isFundedSince(at - FUNDED_MS, wallet)} THEN 1 ELSE 0 END AS funded
          FROM webhooks WHERE wallet = ${wallet}`);
        const max = funded ? limits.webhooksPerAccount : limits.webhooksWithoutGrant;
        if (used >= max) return false;
        await tx.run(sql`INSERT INTO webhooks (id, wallet, url, events, secret, created_at)
          VALUES (${id}, ${wallet}, ${url}, ${events}, ${secret}, ${at})`);
        await record(tx, 'webhook_created', { ...by, wallet }, id, url);
        return true;
      }),
    listWebhooks: (wallet, limit, before) =>
      all<WebhookRecord>(sql`SELECT ${COLUMNS} FROM webhooks
        WHERE wallet = ${wallet} AND id < ${before ?? LAST_ID} ORDER BY id DESC LIMIT ${limit}`),
    changeWebhook: (id, change, by) => write((tx) => changeWebhook(tx, id, change, by)),
    async deleteWebhook(id, by) {
      const isFound = await write(async (tx) => {
        if ((await find(tx, id, by.wallet)) === null) return false;
        await endSending(tx, id, 'owner', by.at);
        return true;
      });
      if (!isFound) return false;
      const deleteSome = (tx: Tx) =>
        tx.run(sql`DELETE FROM webhook_deliveries WHERE id IN (
          SELECT id FROM webhook_deliveries WHERE webhook_id = ${id} LIMIT ${ROWS_PER_COMMIT})`);
      while ((await write(deleteSome)) === ROWS_PER_COMMIT);
      return write(async (tx) => {
        const gone = await tx.get<{ url: string }>(
          sql`DELETE FROM webhooks WHERE id = ${id} AND wallet = ${by.wallet} RETURNING url`,
        );
        if (gone !== null) await record(tx, 'webhook_deleted', by, id, gone.url);
        return gone !== null;
      });
    },
    testWebhook: (id, wallet, now) =>
      write(async (tx) => {
        const webhook = await find(tx, id, wallet);
        if (webhook?.disabled_at !== null) return null;
        const waiting = await findTest(tx, id);
        if (waiting !== null) return waiting;
        await enqueue(tx, id, [{ type: 'test', data: {} }], now);
        return findTest(tx, id);
      }),
    listDeliveries: (webhookId, wallet, limit, before) =>
      read(async (tx) => {
        if ((await find(tx, webhookId, wallet)) === null) return null;
        const below =
          before === null ? Number.MAX_SAFE_INTEGER : await numberOf(tx, webhookId, before);
        return tx.all<DeliveryRecord>(sql`SELECT ${DELIVERY} FROM webhook_deliveries
          WHERE webhook_id = ${webhookId} AND number < ${below}
          ORDER BY number DESC LIMIT ${limit}`);
      }),
    replayDelivery: (id, wallet, now) =>
      write(async (tx) => {
        const webhook = await tx.get<{ id: string }>(sql`SELECT id FROM webhooks
          WHERE id = (SELECT webhook_id FROM webhook_deliveries WHERE id = ${id})
            AND wallet = ${wallet} AND disabled_at IS NULL ${whileNumbering}`);
        if (webhook === null) return false;
        // Its new number must not be reported as missing.
        await reportGap(tx, webhook.id, now);
        const next = await tx.one<{ last_number: number }>(sql`
          UPDATE webhooks SET last_number = last_number + 1,
            next_at = CASE WHEN next_at = ${NEVER} THEN ${now} ELSE next_at END
          WHERE id = ${webhook.id} RETURNING last_number`);
        const replayed = await tx.run(sql`UPDATE webhook_deliveries
          SET state = 'pending', number = ${next.last_number} WHERE id = ${id}`);
        return replayed > 0;
      }),
    async deleteDeliveries(before, limit) {
      // The state twice: a replay may commit between the query and the deletion.
      const deleted =
        await run(sql`DELETE FROM webhook_deliveries WHERE state <> 'pending' AND id IN (
          SELECT id FROM webhook_deliveries WHERE state <> 'pending' AND created_at < ${before}
          ORDER BY created_at LIMIT ${limit})`);
      return deleted === limit;
    },

    listDueWebhooks: (isFunded, limit, now) => all<DueWebhook>(due(isFunded, limit, now)),
    readDueWebhook: (id, now) =>
      get<WebhookToSend>(sql`SELECT url, secret,
          CASE WHEN old_until > ${now} THEN old_secret END AS old_secret, failures, failing_since
        FROM webhooks WHERE id = ${id} AND next_at < ${NEVER} AND (next_at <= ${now}
          OR ${hasWrongPause(now)} OR ${hasWrongDeferral(now, sql`funded`)})`),
    listWaiting: (webhookId, limit) =>
      all<WaitingMessage>(sql`SELECT id, number, type, data, created_at
        FROM webhook_deliveries WHERE webhook_id = ${webhookId} AND state = 'pending'
        ORDER BY number LIMIT ${limit}`),
    restWebhook: (id) =>
      write(async (tx) => {
        await lockWebhook(tx, id);
        await tx.run(sql`UPDATE webhooks SET next_at = ${NEVER} WHERE id = ${id}
          AND NOT EXISTS (SELECT 1 FROM webhook_deliveries
            WHERE webhook_id = ${id} AND state = 'pending')`);
      }),
    recordDelivered: (attempt) =>
      write(async (tx) => {
        const { webhookId, deliveryId, number, at } = attempt;
        await recordAttempt(tx, attempt);
        await tx.run(sql`UPDATE webhook_deliveries SET state = 'delivered'
          WHERE id = ${deliveryId} AND number = ${number}`);
        await tx.run(sql`UPDATE webhooks SET failures = 0, failing_since = NULL, next_at = 0
          WHERE id = ${webhookId} AND failures > 0 AND disabled_at IS NULL`);
        await reportGap(tx, webhookId, at);
      }),
    recordFailed: (attempt, retry) =>
      write(async (tx) => {
        const { webhookId, at } = attempt;
        await recordAttempt(tx, attempt);
        await tx.run(sql`UPDATE webhooks
          SET failures = failures + 1, failing_since = coalesce(failing_since, ${at})
          WHERE id = ${webhookId}`);
        await defer(tx, webhookId, retry, at);
      }),
    deferWebhook: (id, retry, now) => write((tx) => defer(tx, id, retry, now)),
  };
}

function find(tx: Tx, id: string, wallet: string) {
  return tx.get<{ disabled_at: number | null }>(
    sql`SELECT disabled_at FROM webhooks WHERE id = ${id} AND wallet = ${wallet}`,
  );
}

/** The test that waits, if one does. */
function findTest(tx: Tx, id: string) {
  return tx.get<DeliveryRecord>(sql`SELECT ${DELIVERY} FROM webhook_deliveries
    WHERE webhook_id = ${id} AND state = 'pending' AND type = 'test' LIMIT 1`);
}

/** The number of the message; 0 if the webhook does not have it. */
async function numberOf(tx: Tx, webhookId: string, id: string): Promise<number> {
  const message = await tx.get<{ number: number }>(
    sql`SELECT number FROM webhook_deliveries WHERE id = ${id} AND webhook_id = ${webhookId}`,
  );
  return message?.number ?? 0;
}

async function changeWebhook(
  tx: Tx,
  id: string,
  { url, events, enabled, rotation }: WebhookChange,
  by: Actor & { wallet: string },
): Promise<WebhookRecord | null> {
  const update = () =>
    tx.get<WebhookRecord>(sql`UPDATE webhooks
      SET url = coalesce(${url ?? null}, url), events = coalesce(${events ?? null}, events)
      WHERE id = ${id} AND wallet = ${by.wallet} RETURNING ${COLUMNS}`);
  const found = await update();
  if (found === null) return null;
  if (rotation) {
    const { oldUntil, secret } = rotation;
    await tx.run(sql`UPDATE webhooks
      SET old_secret = secret, old_until = ${oldUntil}, secret = ${secret} WHERE id = ${id}`);
  }
  if (enabled === true) {
    await tx.run(sql`UPDATE webhooks SET disabled_at = NULL, disabled_for = NULL, failures = 0,
      failing_since = NULL, next_at = 0 WHERE id = ${id} AND disabled_at IS NOT NULL`);
  }
  if (enabled === false) await disable(tx, id, 'owner', by.at);
  await record(tx, rotation ? 'webhook_secret_rotated' : 'webhook_changed', by, id, found.url);
  return update();
}

/** At most `limit` webhooks for each reason to be due. */
function due(isFunded: boolean, limit: number, now: number): Sql {
  const funded = Number(isFunded);
  // In the order of the index.
  const dueBy = (condition: Sql) => sql`SELECT * FROM (SELECT id, wallet FROM webhooks w
    WHERE funded = ${funded} AND ${condition} AND next_at < ${NEVER}
      AND NOT EXISTS (SELECT 1 FROM accounts a
        WHERE a.wallet = w.wallet AND coalesce(a.suspended_at, a.deleting_at) IS NOT NULL)
    ORDER BY next_at LIMIT ${limit}) AS due`;
  return sql`${dueBy(hasWrongPause(now))} UNION ALL ${dueBy(hasWrongDeferral(now, funded))}
    UNION ALL ${dueBy(sql`next_at <= ${now}`)}`;
}

// A next attempt that is further ahead than the longest wait was scheduled by a clock that was ahead: it is due.

/** For a webhook that fails. */
function hasWrongPause(now: number): Sql {
  return sql`failures > 0 AND next_at > ${now + LONGEST_PAUSE_MS}`;
}

const DEFERRAL_MS = raw(String(LONGEST_DEFERRAL_MS));

/** For any other webhook. Only accounts without a grant have a limit of attempts. */
function hasWrongDeferral(now: number, funded: number | Sql): Sql {
  return sql`failures = 0 AND next_at > CAST(${now} AS bigint) + (1 - ${funded}) * ${DEFERRAL_MS}`;
}

async function defer(tx: Tx, id: string, retry: Retry, now: number): Promise<void> {
  if ('disable' in retry) await disable(tx, id, retry.disable, now);
  else {
    await tx.run(
      sql`UPDATE webhooks SET next_at = ${retry.at} WHERE id = ${id} AND disabled_at IS NULL`,
    );
  }
}

/** While an account is suspended, none of its webhooks is due. */
export async function pauseWebhooks(tx: Tx, wallet: string, isPaused: boolean): Promise<void> {
  await tx.run(sql`UPDATE webhooks SET next_at = ${isPaused ? NEVER : 0}
    WHERE wallet = ${wallet} AND disabled_at IS NULL`);
}

async function recordAttempt(tx: Tx, { webhookId, deliveryId, status, error, at }: Attempt) {
  // First, as in every other write of both: else two writes could wait for each other.
  await lockWebhook(tx, webhookId);
  await tx.run(sql`UPDATE webhook_deliveries SET attempts = attempts + 1,
    last_status = ${status}, last_error = ${error}, attempted_at = ${at} WHERE id = ${deliveryId}`);
}

async function lockWebhook(tx: Tx, id: string): Promise<void> {
  await tx.run(onPostgres(sql`SELECT id FROM webhooks WHERE id = ${id} FOR UPDATE`));
}

function record(
  tx: Tx,
  kind: AuditKind,
  { wallet, ...by }: Actor & { wallet: string },
  id: string,
  url: string,
): Promise<void> {
  // Path and query of a URL may have a token.
  const detail = new URL(url).origin;
  return recordAudit(tx, wallet, kind, by, { target_id: id, detail });
}
