// Notifies all instances of queued proofs and decided completions, with LISTEN and NOTIFY.

import type pg from 'pg';
import type { Triggers } from '../../../../base/triggers.ts';
import type { Connections } from './connections.ts';
import { sql } from './sql.ts';

/** Wakes waiters by topic: in this process at once, in other instances soon. It may be lost, so waiters also poll. */
export interface Notifications {
  tell(topics: readonly string[]): void;
  close(): Promise<void>;
}

const CHANNEL = 'svc_hints';
/** Notifications are sent together once per this time, in ms: a commit with NOTIFY delays all other commits. */
const BATCH_MS = 20;
/** PostgreSQL limits a payload to less than 8000 bytes. */
const TOPICS_PER_PAYLOAD = 100;
/** Beyond this number of topics one payload wakes all waiters. */
const TOPICS_AT_ONCE = 2_000;
const ALL_TOPICS = '*';
const RECONNECT_MS = 1_000;

const notify = sql(`SELECT pg_notify('${CHANNEL}', payload) FROM unnest($1::text[]) AS payload`);

export function startNotifications(
  connections: Connections,
  { triggers, listen }: { triggers: Triggers; listen: boolean },
): Notifications {
  let batched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<unknown> = Promise.resolve();
  const listener = listen ? startListener(connections, triggers) : null;

  function send(): void {
    timer = undefined;
    const topics = [...batched];
    batched = new Set();
    const payloads = topics.length > TOPICS_AT_ONCE ? [ALL_TOPICS] : inPayloads(topics);
    // If it fails, the other instances find out by polling.
    sending = connections.use((connection) => connection.rows(notify, [payloads])).catch(() => {});
  }

  return {
    tell(topics) {
      for (const topic of topics) triggers.wake(topic);
      if (!listen || topics.length === 0) return;
      for (const topic of topics) batched.add(topic);
      timer ??= setTimeout(send, BATCH_MS);
    },
    async close() {
      if (timer !== undefined) {
        clearTimeout(timer);
        send();
      }
      await sending;
      await listener?.close();
    },
  };
}

function inPayloads(topics: readonly string[]): string[] {
  const payloads: string[] = [];
  for (let i = 0; i < topics.length; i += TOPICS_PER_PAYLOAD) {
    payloads.push(topics.slice(i, i + TOPICS_PER_PAYLOAD).join(','));
  }
  return payloads;
}

/** Listens on a session of its own, and reconnects when it is lost. */
function startListener(connections: Connections, triggers: Triggers): { close(): Promise<void> } {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let client: pg.Client | undefined;

  function again(): void {
    if (closed || timer !== undefined) return;
    void client?.end().catch(() => {});
    timer = setTimeout(() => {
      timer = undefined;
      void connect();
    }, RECONNECT_MS);
  }

  async function connect(): Promise<void> {
    try {
      client = connections.listener();
      client.on('error', again);
      client.on('end', again);
      client.on('notification', ({ payload = '' }) => {
        if (payload === ALL_TOPICS) triggers.wakeAll();
        else for (const topic of payload.split(',')) triggers.wake(topic);
      });
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      // Notifications between the two sessions were lost.
      triggers.wakeAll();
    } catch {
      again();
    }
  }

  const first = connect();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await first;
      await client?.end().catch(() => {});
    },
  };
}
