// Writes messages to the outboxes of webhooks, each under the next number of its webhook, on either database.

import { randomUUID } from 'node:crypto';
import { limits } from '../../protocol/limits.ts';
import type { WebhookType } from '../../protocol/webhooks.ts';
import { FUNDED_MS, ROW_BYTES, rowBytes } from '../rules/storage.ts';
import { first, insert, rows, type Steps, some } from './engine/steps.ts';
import { isFundedSince } from './storage-usage.ts';

/** The oldest messages among which finished ones are deleted to make room, so that a commit does not delay others. */
const OLDEST = 100;

/** The time of the next attempt, in SQL: the webhook is disabled or its account suspended, or no message waits. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export const outboxSql = {
  anyWebhook: `SELECT id FROM webhooks WHERE wallet > '' LIMIT 1`,
  subscribed: `SELECT id FROM webhooks
    WHERE wallet = $1 AND disabled_at IS NULL AND events LIKE '%"' || $2 || '"%'`,
  verified: `SELECT t.wallet, t.id AS task_id, t.robot_id, c.proof_hash, a.chain_id,
      a.mined_tx_hash AS tx_hash, a.mined_block_number AS block_number
    FROM leaves l JOIN attempts a ON a.id = l.attempt_id JOIN tasks t ON t.id = l.task_id
    JOIN completions c ON c.task_id = t.id
    WHERE l.attempt_id = $1 AND l.leaf_index BETWEEN $2 AND $3 AND l.settled_at IS NULL
      AND EXISTS (SELECT 1 FROM webhooks w WHERE w.wallet = t.wallet)`,
  taskOf: 'SELECT wallet, id AS task_id, robot_id FROM tasks WHERE id = $1',
  // The lock lets the numbers follow the order of the commits.
  open: `SELECT last_number, stored_bytes, missing_from,
      CASE WHEN ${isFundedSince('$2', 'webhooks.wallet')} THEN 1 ELSE 0 END AS funded,
      (SELECT number FROM webhook_deliveries WHERE webhook_id = webhooks.id AND state = 'pending'
        ORDER BY number LIMIT 1) AS oldest
    FROM webhooks WHERE id = $1 AND disabled_at IS NULL FOR NO KEY UPDATE`,
  makeRoom: `DELETE FROM webhook_deliveries WHERE id IN (
      SELECT id FROM (SELECT id, state FROM webhook_deliveries WHERE webhook_id = $1
        ORDER BY number LIMIT ${OLDEST}) AS oldest WHERE state <> 'pending')
    RETURNING octet_length(data) + ${ROW_BYTES} AS bytes`,
  save: `UPDATE webhooks SET last_number = $2, stored_bytes = stored_bytes + $3, missing_from = $4,
      funded = $5, next_at = CASE WHEN next_at = ${NEVER} THEN $6 ELSE next_at END
    WHERE id = $1`,
  gap: `SELECT last_number, missing_from, funded FROM webhooks
    WHERE id = $1 AND disabled_at IS NULL AND missing_from IS NOT NULL FOR NO KEY UPDATE`,
  tooMany: `SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND state = 'pending'
    ORDER BY number LIMIT 1 OFFSET ${limits.webhookBacklog}`,
  disable: `UPDATE webhooks SET disabled_at = $2, disabled_for = $3, next_at = ${NEVER}
    WHERE id = $1 AND disabled_at IS NULL`,
  abandon: `UPDATE webhook_deliveries SET state = 'abandoned'
    WHERE webhook_id = $1 AND state = 'pending'`,
} as const;

/** A fact that webhooks of the account report. */
export interface Message {
  wallet: string;
  type: WebhookType;
  data: object;
}

interface Outbox {
  last_number: number;
  stored_bytes: number;
  funded: 0 | 1;
  /** The first number since the last message that had no room. */
  missing_from: number | null;
  /** The number of the first message that waits. */
  oldest: number | null;
}

/** Writes messages to the outbox. Call it in the write of their facts. */
export function* queueMessages(messages: readonly Message[], now: number): Steps<void> {
  if (messages.length === 0 || (yield* some(outboxSql.anyWebhook)) === false) return;
  const byWebhook = new Map<string, Pick<Message, 'type' | 'data'>[]>();
  for (const { wallet, ...message } of messages) {
    for (const { id } of yield* rows<{ id: string }>(outboxSql.subscribed, wallet, message.type)) {
      byWebhook.set(id, [...(byWebhook.get(id) ?? []), message]);
    }
  }
  // Always in one order, so that no two writes wait for each other.
  for (const id of [...byWebhook.keys()].sort()) yield* enqueue(id, byWebhook.get(id) ?? [], now);
}

/** Writes messages to the outbox of one webhook. Those that have no room only take a number; a `gap` reports them. */
export function* enqueue(
  id: string,
  messages: readonly Pick<Message, 'type' | 'data'>[],
  now: number,
): Steps<void> {
  const outbox = yield* first<Outbox>(outboxSql.open, id, now - FUNDED_MS);
  if (outbox === undefined) return;
  let { last_number: number, missing_from: missingFrom } = outbox;
  const sized = messages.map(({ type, data }) => ({ type, bytes: bytesOf(data), data }));
  const most = outbox.funded ? limits.webhookBytes : limits.webhookBytesWithoutGrant;
  let room = most - outbox.stored_bytes;
  if (sized.reduce((sum, { bytes }) => sum + bytes, 0) > room) {
    const gone = yield* rows<{ bytes: number }>(outboxSql.makeRoom, id);
    room += gone.reduce((sum, { bytes }) => sum + bytes, 0);
  }
  const found: ReturnType<typeof rowOf>[] = [];
  for (const { type, data, bytes } of sized) {
    const fits = bytes <= room || type === 'test';
    if (fits && missingFrom !== null) {
      found.push(gapOf(id, [missingFrom, number], now));
      number += 1;
      missingFrom = null;
    }
    number += 1;
    if (!fits) missingFrom ??= number;
    else {
      found.push(rowOf(id, { type, data, number }, now));
      room -= bytes;
    }
  }
  yield* store(id, found, { number, missingFrom, funded: outbox.funded }, now);
  const isLong = number - (outbox.oldest ?? number) >= limits.webhookBacklog;
  if (isLong && (yield* some(outboxSql.tooMany, id))) yield* disable(id, 'backlog', now);
}

/** Reports the messages that had no room since the last one. Call it after a delivery: the endpoint is there. */
export function* reportGap(id: string, now: number): Steps<void> {
  type Gap = { last_number: number; missing_from: number; funded: 0 | 1 };
  const gap = yield* first<Gap>(outboxSql.gap, id);
  if (gap === undefined) return;
  const row = gapOf(id, [gap.missing_from, gap.last_number], now);
  yield* store(id, [row], { number: row.number, missingFrom: null, funded: gap.funded }, now);
}

function* store(
  id: string,
  found: readonly ReturnType<typeof rowOf>[],
  state: { number: number; missingFrom: number | null; funded: 0 | 1 },
  now: number,
): Steps<void> {
  yield* insert('webhook_deliveries', found);
  const bytes = found.reduce((sum, { data }) => sum + rowBytes(data), 0);
  const { number, missingFrom, funded } = state;
  yield* rows(outboxSql.save, id, number, bytes, missingFrom, funded, now);
}

function gapOf(id: string, [from, to]: readonly [number, number], now: number) {
  return rowOf(id, { type: 'gap', data: { first: from, last: to }, number: to + 1 }, now);
}

function rowOf(
  webhookId: string,
  { type, data, number }: Pick<Message, 'type' | 'data'> & { number: number },
  now: number,
) {
  const text = JSON.stringify(data);
  return { id: randomUUID(), webhook_id: webhookId, type, data: text, created_at: now, number };
}

function bytesOf(data: object): number {
  return rowBytes(JSON.stringify(data));
}

/** Disables the webhook, and abandons its messages. */
export function* disable(id: string, reason: string, now: number): Steps<void> {
  yield* rows(outboxSql.disable, id, now, reason);
  yield* rows(outboxSql.abandon, id);
}

/** Reports the tasks of unsettled leaves, from the first to the last index. Call it before the leaves are settled. */
export function* queueVerified(
  attemptId: string,
  [first, last]: readonly [number, number],
  now: number,
): Steps<void> {
  if ((yield* rows(outboxSql.anyWebhook)).length === 0) return;
  type Verified = { wallet: string; block_number: number };
  const tasks = yield* rows<Verified>(outboxSql.verified, attemptId, first, last);
  const messages = tasks.map(({ wallet, block_number, ...data }) => {
    return {
      wallet,
      type: 'task.verified' as const,
      data: { ...data, block_number: `${block_number}` },
    };
  });
  yield* queueMessages(messages, now);
}

/** Reports tasks with the reason of their failure. */
export function* queueFailed(taskIds: readonly string[], reason: string, now: number): Steps<void> {
  if ((yield* rows(outboxSql.anyWebhook)).length === 0) return;
  const messages: Message[] = [];
  for (const id of taskIds) {
    const [task] = yield* rows<{ wallet: string }>(outboxSql.taskOf, id);
    if (task === undefined) continue;
    const { wallet, ...data } = task;
    messages.push({ wallet, type: 'task.failed', data: { ...data, reason } });
  }
  yield* queueMessages(messages, now);
}
