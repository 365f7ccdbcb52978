// Notifies all instances of queued proofs, decided completions and changes, with LISTEN and NOTIFY.

import { randomInt, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Triggers } from '../../../../base/async/triggers.ts';
import { PRESENCE } from '../../anchoring/leases.ts';
import type { Presence } from '../../db/database.ts';
import type { ChangeFeed } from '../../stream.ts';
import { type Connections, sql } from './connections.ts';

const CHANNEL = 'svc_notifications';
/** Notifications are sent together once per this time, in ms: a commit with NOTIFY delays all other commits. */
const BATCH_MS = 20;
/** PostgreSQL limits a payload to less than 8000 bytes. */
const TOPICS_PER_PAYLOAD = 100;
/** Beyond this number of topics one payload wakes all waiters. */
const TOPICS_AT_ONCE = 2_000;
const ALL_TOPICS = '*';
/** Much less than the time without presence after which other instances take the leases of this one. */
const RECONNECT_MS = 250;
/**
 * How often an instance checks that notifications arrive. While they do not, it tells its streams that anything may have
 * changed.
 */
const CHECK_MS = 10_000;
/** Begins a payload with changes: the instance, the account, and `kind:id` of each change. */
const CHANGED = 'changed ';

const LISTEN = `LISTEN ${CHANNEL}`;
const notify = sql(`SELECT pg_notify('${CHANNEL}', payload) FROM unnest($1::text[]) AS payload`);

export type Notifications = ReturnType<typeof startNotifications>;

export function startNotifications(
  connections: Connections,
  { triggers, feed, listen }: { triggers: Triggers; feed: ChangeFeed; listen: boolean },
) {
  let batched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<unknown> = Promise.resolve();
  feed.isComplete = false;
  // PostgreSQL also delivers an instance's own notifications.
  const self = randomUUID();
  const listener = listen ? startListener(connections, { triggers, feed, self }) : null;
  const net = setInterval(() => {
    if (feed.isComplete) listener?.check();
    else feed.changedAnywhere();
  }, CHECK_MS).unref();
  if (listen) {
    feed.tellOthers = (changes) => {
      for (const [wallet, keys] of changes) {
        batched.add([`${CHANGED}${self}`, wallet, ...(keys ?? [ALL_TOPICS])].join(' '));
      }
      timer ??= setTimeout(send, BATCH_MS);
    };
  }

  function send(): void {
    timer = undefined;
    const topics = [...batched];
    batched = new Set();
    const isAll = topics.length > TOPICS_AT_ONCE || topics.includes(ALL_TOPICS);
    const payloads = isAll ? [ALL_TOPICS] : inPayloads(topics);
    // If it fails, the other instances find out by polling, or once it works again.
    sending = connections
      .use((connection) => connection.rows(notify, [payloads]))
      .catch(() => {
        batched.add(ALL_TOPICS);
        timer ??= setTimeout(send, RECONNECT_MS).unref();
      });
  }

  return {
    /** Wakes waiters by topic: in this process at once, in other instances soon. It may be lost, so waiters also poll. */
    tell(topics: readonly string[]): void {
      for (const topic of topics) triggers.wake(topic);
      if (!listen || topics.length === 0) return;
      for (const topic of topics) batched.add(topic);
      timer ??= setTimeout(send, BATCH_MS);
    },
    async close(): Promise<void> {
      clearInterval(net);
      if (timer !== undefined) {
        clearTimeout(timer);
        send();
      }
      await sending;
      clearTimeout(timer);
      await listener?.close();
    },
    presence: () => listener?.presence() ?? null,
  };
}

function inPayloads(topics: readonly string[]): string[] {
  // Changes of an account fill a payload.
  const payloads = topics.filter((topic) => topic.startsWith(CHANGED));
  const short = topics.filter((topic) => !topic.startsWith(CHANGED));
  for (let i = 0; i < short.length; i += TOPICS_PER_PAYLOAD) {
    payloads.push(short.slice(i, i + TOPICS_PER_PAYLOAD).join(','));
  }
  return payloads;
}

/** Listens on a session of its own, and reconnects when it is lost. */
function startListener(
  connections: Connections,
  { triggers, feed, self }: { triggers: Triggers; feed: ChangeFeed; self: string },
): { check(): void; presence(): Presence | null; close(): Promise<void> } {
  const key = randomInt(2 ** 31);
  let since: number | null = null;
  let closed = false;
  let answers = true;
  let timer: NodeJS.Timeout | undefined;
  let client: pg.Client | undefined;

  function again(): void {
    feed.isComplete = false;
    since = null;
    if (closed || timer !== undefined) return;
    void client?.end().catch(() => {});
    timer = setTimeout(() => {
      timer = undefined;
      void connect();
    }, RECONNECT_MS);
  }

  function wakeAll(): void {
    triggers.wakeAll();
    feed.changedAnywhere();
  }

  function receive(payload: string): void {
    const [, from, wallet = '', ...keys] = payload.split(' ');
    if (from !== self) feed.receive(wallet, keys[0] === ALL_TOPICS ? null : keys);
  }

  async function connect(): Promise<void> {
    try {
      client = connections.listener();
      client.on('error', again);
      client.on('end', again);
      client.on('notification', ({ payload = '' }) => {
        if (payload === ALL_TOPICS) wakeAll();
        else if (payload.startsWith(CHANGED)) receive(payload);
        // It may arrive late: a completion that failed may be queued again.
        else for (const topic of payload.split(',')) triggers.wake(topic, true);
      });
      await client.connect();
      // Shared: the server may still have the lost session.
      await client.query(`SELECT pg_advisory_lock_shared(${PRESENCE}, ${key})`);
      await client.query(LISTEN);
      answers = true;
      feed.isComplete = true;
      since = performance.now();
      // Notifications between the two sessions were lost.
      wakeAll();
    } catch {
      again();
    }
  }

  const first = connect();
  return {
    /** Connects again if the session has not answered the last check: it may be lost without an error. */
    check() {
      if (!answers) return again();
      answers = false;
      client?.query(LISTEN).then(
        () => {
          answers = true;
        },
        () => {},
      );
    },
    presence: () => (since === null ? null : { key, since }),
    async close() {
      closed = true;
      clearTimeout(timer);
      await first;
      await client?.end().catch(() => {});
    },
  };
}
