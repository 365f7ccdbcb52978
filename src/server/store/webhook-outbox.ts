// Writes messages to the outboxes of webhooks, each under the next number of its webhook, on either database.

import { randomUUID } from 'node:crypto';
import { limits } from '../../protocol/limits.ts';
import type { WebhookType } from '../../protocol/webhooks.ts';
import { FUNDED_MS, ROW_BYTES, rowBytes } from '../rules/storage.ts';
import { among, first, insert, rows, type Steps, some } from './engine/steps.ts';
import { isFundedSince } from './storage-usage.ts';

/** To make room, as many delivered and abandoned messages as needed are deleted, but only among so many of the oldest. */
const OLDEST = 100;

/** `next_at` of a webhook with nothing to send: no message waits, it is disabled, or its account is suspended. */
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
  oldest: `SELECT id, state, octet_length(data) + ${ROW_BYTES} AS bytes FROM webhook_deliveries
    WHERE webhook_id = $1 ORDER BY number LIMIT ${OLDEST} FOR UPDATE SKIP LOCKED`,
  remove: `DELETE FROM webhook_deliveries WHERE id ${among('uuid', 1)}`,
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

/** What a webhook knows of its messages. */
interface Outbox {
  /** Of the newest message, also of one that had no room. */
  last_number: number;
  /** The first number since the last message that had room; null if the last one had. */
  missing_from: number | null;
  /** Whether the account has a recent grant. */
  funded: 0 | 1;
}

/** Writes messages to the outboxes of the accounts' webhooks. Call it once in the write of their facts. */
export function* queueMessages(messages: readonly Message[], now: number): Steps<void> {
  if (messages.length === 0 || !(yield* some(outboxSql.anyWebhook))) return;
  const byWebhook = new Map<string, Message[]>();
  for (const message of messages) {
    const { wallet, type } = message;
    for (const { id } of yield* rows<{ id: string }>(outboxSql.subscribed, wallet, type)) {
      byWebhook.set(id, [...(byWebhook.get(id) ?? []), message]);
    }
  }
  // Every write locks webhooks in this order, so that no two of them wait for each other.
  for (const id of [...byWebhook.keys()].sort()) yield* enqueue(id, byWebhook.get(id) ?? [], now);
}

/** Writes messages to the outbox of one webhook. Those that have no room only take a number; a `gap` reports them. */
export function* enqueue(
  id: string,
  messages: readonly Pick<Message, 'type' | 'data'>[],
  now: number,
): Steps<void> {
  type Opened = Outbox & { stored_bytes: number; oldest: number | null };
  const outbox = yield* first<Opened>(outboxSql.open, id, now - FUNDED_MS);
  if (outbox === undefined) return;
  const wanted = messages.map(({ type, data }) => rowOf(id, type, data, now));
  const most = outbox.funded ? limits.webhookBytes : limits.webhookBytesWithoutGrant;
  let room = most - outbox.stored_bytes;
  const needed = bytesOf(wanted);
  if (needed > room) {
    // An outbox larger than its limit, as after the end of a grant, drops no message while old ones go, two for one.
    const deleted = yield* makeRoom(id, Math.min(needed - room, 2 * needed));
    room = Math.max(room, 0) + deleted;
  }
  let { last_number: number, missing_from: missingFrom } = outbox;
  const stored: Numbered[] = [];
  for (const row of wanted) {
    const fits = bytesOf([row]) <= room || row.type === 'test';
    if (fits && missingFrom !== null) {
      stored.push(gapOf(id, [missingFrom, number], now));
      number += 1;
      missingFrom = null;
    }
    number += 1;
    if (!fits) missingFrom ??= number;
    else {
      stored.push({ ...row, number });
      room -= bytesOf([row]);
    }
  }
  yield* save(id, stored, { ...outbox, last_number: number, missing_from: missingFrom }, now);
  const mayBeTooMany = number - (outbox.oldest ?? number) >= limits.webhookBacklog;
  if (stored.length > 0 && mayBeTooMany && (yield* some(outboxSql.tooMany, id))) {
    yield* disable(id, 'backlog', now);
  }
}

/** Deletes the oldest messages that do not wait, until so many bytes are free. Returns how many are. */
function* makeRoom(id: string, bytes: number): Steps<number> {
  type Old = { id: string; state: string; bytes: number };
  const removed: string[] = [];
  let free = 0;
  for (const old of yield* rows<Old>(outboxSql.oldest, id)) {
    if (old.state === 'pending' || free >= bytes) continue;
    removed.push(old.id);
    free += old.bytes;
  }
  yield* rows(outboxSql.remove, JSON.stringify(removed));
  return free;
}

/** Reports the messages that had no room since the last one that had, if there are any. */
export function* reportGap(id: string, now: number): Steps<void> {
  const outbox = yield* first<Outbox & { missing_from: number }>(outboxSql.gap, id);
  if (outbox === undefined) return;
  const gap = gapOf(id, [outbox.missing_from, outbox.last_number], now);
  yield* save(id, [gap], { ...outbox, last_number: gap.number, missing_from: null }, now);
}

type Row = ReturnType<typeof rowOf>;
type Numbered = Row & { number: number };

function* save(id: string, stored: readonly Numbered[], outbox: Outbox, now: number): Steps<void> {
  const inserted = yield* insert('webhook_deliveries', stored);
  if (inserted.length < stored.length) throw new Error('A message was not stored');
  const { last_number, missing_from, funded } = outbox;
  const values = [last_number, bytesOf(stored), missing_from, funded, now];
  yield* rows(outboxSql.save, id, ...values);
}

/** The message that reports these numbers, the first and the last, under the next one. */
function gapOf(id: string, [from, to]: readonly [number, number], now: number): Numbered {
  return { ...rowOf(id, 'gap', { first: from, last: to }, now), number: to + 1 };
}

function rowOf(webhookId: string, type: WebhookType, data: object, now: number) {
  const text = JSON.stringify(data);
  return { id: randomUUID(), webhook_id: webhookId, type, data: text, created_at: now };
}

function bytesOf(found: readonly Pick<Row, 'data'>[]): number {
  return found.reduce((sum, { data }) => sum + rowBytes(data), 0);
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
  if (!(yield* some(outboxSql.anyWebhook))) return;
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
  if (!(yield* some(outboxSql.anyWebhook))) return;
  const messages: Message[] = [];
  for (const id of taskIds) {
    const [task] = yield* rows<{ wallet: string }>(outboxSql.taskOf, id);
    if (task === undefined) continue;
    const { wallet, ...data } = task;
    messages.push({ wallet, type: 'task.failed', data: { ...data, reason } });
  }
  yield* queueMessages(messages, now);
}
