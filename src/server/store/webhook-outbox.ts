// Writes messages to the outboxes of webhooks, each under the next number of its webhook, on either database.

import { randomUUID } from 'node:crypto';
import { limits } from '../../protocol/limits.ts';
import type { WebhookType } from '../../protocol/webhooks.ts';
import { FUNDED_MS, ROW_BYTES, rowBytes } from '../rules/storage.ts';
import type { Tx } from './db/database.ts';
import { among, onPostgres } from './db/dialect.ts';
import { insertNew } from './db/rows.ts';
import { raw, sql } from './db/sql.ts';
import { isFundedSince } from './storage-usage.ts';

/** To make room, as many delivered and abandoned messages as needed are deleted, but only among so many of the oldest. */
const OLDEST = raw('LIMIT 100');

/** `next_at` of a webhook with nothing to send: no message waits, it is disabled, or its account is suspended. */
export const NEVER = raw(String(Number.MAX_SAFE_INTEGER));

/** A lock on a webhook that lets its numbers follow the order of the commits. */
export const whileNumbering = onPostgres(sql`FOR NO KEY UPDATE`);

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
export async function queueMessages(tx: Tx, messages: readonly Message[], now: number) {
  if (messages.length === 0 || !(await hasWebhooks(tx))) return;
  const byWebhook = new Map<string, Message[]>();
  for (const message of messages) {
    const { wallet, type } = message;
    const subscribed = await tx.all<{ id: string }>(sql`SELECT id FROM webhooks
      WHERE wallet = ${wallet} AND disabled_at IS NULL AND events LIKE ${`%"${type}"%`}`);
    for (const { id } of subscribed) {
      byWebhook.set(id, [...(byWebhook.get(id) ?? []), message]);
    }
  }
  // Every write locks webhooks in this order, so that no two of them wait for each other.
  for (const id of [...byWebhook.keys()].sort()) {
    await enqueue(tx, id, byWebhook.get(id) ?? [], now);
  }
}

/** Whether there is any webhook at all. Without one, writes read nothing else here. */
async function hasWebhooks(tx: Tx): Promise<boolean> {
  return (await tx.get(sql`SELECT id FROM webhooks WHERE wallet > '' LIMIT 1`)) !== null;
}

/** Writes messages to the outbox of one webhook. Those that have no room only take a number; a `gap` reports them. */
export async function enqueue(
  tx: Tx,
  id: string,
  messages: readonly Pick<Message, 'type' | 'data'>[],
  now: number,
): Promise<void> {
  type Opened = Outbox & { stored_bytes: number; oldest: number | null };
  const isFunded = isFundedSince(now - FUNDED_MS, sql`webhooks.wallet`);
  const outbox = await tx.get<Opened>(sql`SELECT last_number, stored_bytes, missing_from,
      CASE WHEN ${isFunded} THEN 1 ELSE 0 END AS funded,
      (SELECT number FROM webhook_deliveries WHERE webhook_id = webhooks.id AND state = 'pending'
        ORDER BY number LIMIT 1) AS oldest
    FROM webhooks WHERE id = ${id} AND disabled_at IS NULL ${whileNumbering}`);
  if (outbox === null) return;
  const wanted = messages.map(({ type, data }) => rowOf(id, type, data, now));
  const most = outbox.funded ? limits.webhookBytes : limits.webhookBytesWithoutGrant;
  let room = most - outbox.stored_bytes;
  const needed = bytesOf(wanted);
  if (needed > room) {
    // An outbox above its limit, as after the end of a grant, shrinks without dropping messages: for each new byte, up to
    // two old ones are deleted.
    const deleted = await makeRoom(tx, id, Math.min(needed - room, 2 * needed));
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
  await save(tx, id, stored, { ...outbox, last_number: number, missing_from: missingFrom }, now);
  const mayBeTooMany = number - (outbox.oldest ?? number) >= limits.webhookBacklog;
  if (stored.length > 0 && mayBeTooMany && (await isBacklogged(tx, id))) {
    await disable(tx, id, 'backlog', now);
  }
}

async function isBacklogged(tx: Tx, id: string): Promise<boolean> {
  const tooMany = await tx.get(sql`SELECT id FROM webhook_deliveries
    WHERE webhook_id = ${id} AND state = 'pending'
    ORDER BY number LIMIT 1 OFFSET ${limits.webhookBacklog}`);
  return tooMany !== null;
}

/** Deletes the oldest messages that do not wait, until so many bytes are free. Returns how many are. */
async function makeRoom(tx: Tx, id: string, bytes: number): Promise<number> {
  type Old = { id: string; state: string; bytes: number };
  const removed: string[] = [];
  let free = 0;
  const oldest = await tx.all<Old>(sql`
    SELECT id, state, octet_length(data) + ${ROW_BYTES} AS bytes FROM webhook_deliveries
    WHERE webhook_id = ${id} ORDER BY number ${OLDEST} ${onPostgres(sql`FOR UPDATE SKIP LOCKED`)}`);
  for (const old of oldest) {
    if (old.state === 'pending' || free >= bytes) continue;
    removed.push(old.id);
    free += old.bytes;
  }
  await tx.run(sql`DELETE FROM webhook_deliveries WHERE id ${among('uuid', removed)}`);
  return free;
}

/** Reports the messages that had no room since the last one that had, if there are any. */
export async function reportGap(tx: Tx, id: string, now: number): Promise<void> {
  const outbox = await tx.get<Outbox & { missing_from: number }>(sql`
    SELECT last_number, missing_from, funded FROM webhooks
    WHERE id = ${id} AND disabled_at IS NULL AND missing_from IS NOT NULL ${whileNumbering}`);
  if (outbox === null) return;
  const gap = gapOf(id, [outbox.missing_from, outbox.last_number], now);
  await save(tx, id, [gap], { ...outbox, last_number: gap.number, missing_from: null }, now);
}

type Row = ReturnType<typeof rowOf>;
type Numbered = Row & { number: number };

async function save(
  tx: Tx,
  id: string,
  stored: readonly Numbered[],
  { last_number, missing_from, funded }: Outbox,
  now: number,
): Promise<void> {
  const inserted = await insertNew(tx, 'webhook_deliveries', stored);
  if (inserted.length < stored.length) throw new Error('A message was not stored');
  await tx.run(sql`UPDATE webhooks SET last_number = ${last_number},
      stored_bytes = stored_bytes + ${bytesOf(stored)}, missing_from = ${missing_from},
      funded = ${funded}, next_at = CASE WHEN next_at = ${NEVER} THEN ${now} ELSE next_at END
    WHERE id = ${id}`);
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
export async function disable(tx: Tx, id: string, reason: string, now: number): Promise<void> {
  await endSending(tx, id, reason, now);
  await tx.run(sql`UPDATE webhook_deliveries SET state = 'abandoned'
    WHERE webhook_id = ${id} AND state = 'pending'`);
}

/** Disables the webhook. Its messages wait on. */
export async function endSending(tx: Tx, id: string, reason: string, now: number): Promise<void> {
  await tx.run(sql`UPDATE webhooks
    SET disabled_at = ${now}, disabled_for = ${reason}, next_at = ${NEVER}
    WHERE id = ${id} AND disabled_at IS NULL`);
}

/** Reports the tasks of unsettled leaves, from the first to the last index. Call it before the leaves are settled. */
export async function queueVerified(
  tx: Tx,
  attemptId: string,
  [first, last]: readonly [number, number],
  now: number,
): Promise<void> {
  if (!(await hasWebhooks(tx))) return;
  type Verified = { wallet: string; block_number: number };
  const tasks = await tx.all<Verified>(sql`
    SELECT t.wallet, t.id AS task_id, t.robot_id, c.proof_hash, a.chain_id,
      a.mined_tx_hash AS tx_hash, a.mined_block_number AS block_number
    FROM leaves l JOIN attempts a ON a.id = l.attempt_id JOIN tasks t ON t.id = l.task_id
    JOIN completions c ON c.task_id = t.id
    WHERE l.attempt_id = ${attemptId} AND l.leaf_index BETWEEN ${first} AND ${last}
      AND l.settled_at IS NULL AND EXISTS (SELECT 1 FROM webhooks w WHERE w.wallet = t.wallet)`);
  const messages = tasks.map(({ wallet, block_number, ...data }): Message => {
    return { wallet, type: 'task.verified', data: { ...data, block_number: `${block_number}` } };
  });
  await queueMessages(tx, messages, now);
}

/** Reports tasks with the reason of their failure. */
export async function queueFailed(tx: Tx, taskIds: readonly string[], reason: string, now: number) {
  if (!(await hasWebhooks(tx))) return;
  const tasks = await tx.all<{ wallet: string }>(
    sql`SELECT wallet, id AS task_id, robot_id FROM tasks WHERE id ${among('uuid', taskIds)}`,
  );
  const messages = tasks.map(({ wallet, ...data }): Message => {
    return { wallet, type: 'task.failed', data: { ...data, reason } };
  });
  await queueMessages(tx, messages, now);
}
