import type { Socket } from 'node:net';
import pg from 'pg';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { Triggers } from '../../../src/base/async/triggers.ts';
import {
  type Connections,
  openConnections,
} from '../../../src/server/store/postgres/engine/connections.ts';
import {
  type Notifications,
  startNotifications,
} from '../../../src/server/store/postgres/engine/notifications.ts';
import { ChangeFeed } from '../../../src/server/store/stream.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import { watched } from '../../support/stream.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

interface Instance {
  connections: Connections;
  triggers: Triggers;
  feed: ChangeFeed;
  notifications: Notifications;
}

let database: TemporaryDatabase;
let session: pg.Client;
let here: Instance;
let there: Instance;

const never = () => new AbortController().signal;

function start(): Instance {
  const connections = openConnections({ url: database.url, poolMax: 1, pooler: false });
  const triggers = new Triggers();
  const feed = new ChangeFeed();
  return {
    connections,
    triggers,
    feed,
    notifications: startNotifications(connections, { triggers, feed, listen: true }),
  };
}

const LISTENERS = `FROM pg_stat_activity
  WHERE datname = current_database() AND query = 'LISTEN svc_notifications' AND state = 'idle'`;

const listening = () =>
  waitFor('both to listen', async () => {
    const { rowCount } = await session.query(`SELECT ${LISTENERS}`);
    return rowCount === 2;
  });

beforeEach(async () => {
  database = await emptyDatabase();
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
  here = start();
  there = start();
  await listening();
});
afterEach(async () => {
  for (const { notifications, connections } of [here, there]) {
    await notifications.close();
    await connections.close();
  }
  await session.end();
  await database.drop();
});

it('wakes callers that wait on another instance', async () => {
  const woken = there.triggers.wait('completion:2', never());

  here.notifications.tell(['completion:1', 'completion:2']);

  await woken;
});

it('reports more changes than a notification holds', async () => {
  const topics = Array.from({ length: 1_500 }, (_, i) => `completion:${i}`);
  const woken = topics.map((topic) => there.triggers.wait(topic, never()));

  here.notifications.tell(topics);

  await Promise.all(woken);
});

it('wakes all callers if there are too many changes to list', async () => {
  const woken = there.triggers.wait('another', never());

  here.notifications.tell(Array.from({ length: 3_000 }, (_, i) => `completion:${i}`));

  await woken;
});

it('reports the last change before an instance ended', async () => {
  const woken = there.triggers.wait('queue', never());

  here.notifications.tell(['queue']);
  await here.notifications.close();

  await woken;
});

it('wakes all callers once it listens again, because of missed changes', async () => {
  const woken = there.triggers.wait('queue', never());

  await session.query(`SELECT pg_terminate_backend(pid) ${LISTENERS}`);

  await woken;
  await listening();
  const told = there.triggers.wait('queue', never());
  here.notifications.tell(['queue']);
  await told;
  expect(there.triggers.size).toBe(0);
});

it('forwards changes of an account once to its streams on another instance', async () => {
  const [own, theirs] = [watched(here.feed, 'a'), watched(there.feed, 'a')];
  const stranger = watched(there.feed, 'b');

  here.feed.changed('a', { alert: '1', credit: '2' });
  await theirs.until('alert 1', 'credit 2');
  there.feed.changed('b', { alert: '3' });

  expect(await stranger.until('alert 3')).toEqual(['alert 3']);
  expect(await own.until('alert 1')).toEqual(['alert 1', 'credit 2']);
  expect(theirs.resets()).toBe(0);
});

it('reports that anything may have changed if a notification cannot hold the changes', async () => {
  const { resets } = watched(there.feed, 'a');

  for (let i = 0; i < 101; i += 1) here.feed.changed('a', { event: `${i}` });

  await waitFor('that message', () => resets() === 1);
});

it('reports that anything may have changed once it listens again', async () => {
  const { resets } = watched(there.feed, 'a');

  await session.query(`SELECT pg_terminate_backend(pid) ${LISTENERS}`);

  await waitFor('that message', () => resets() > 0);
  await listening();
});

it('reports it every 10 s if a pooler does not allow LISTEN', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { connections } = here;
  const feed = new ChangeFeed();
  const options = { triggers: new Triggers(), feed, listen: false };
  const notifications = startNotifications(connections, options);
  onTestFinished(() => notifications.close());
  const { resets } = watched(feed, 'a');

  vi.advanceTimersByTime(10_000);

  await waitFor('that message', () => resets() === 1);
});

it('reports it, and listens again, if its session is lost without an error', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const clients: pg.Client[] = [];
  const listener = () => {
    clients.push(here.connections.listener());
    return clients.at(-1) as pg.Client;
  };
  const feed = new ChangeFeed();
  const options = { triggers: new Triggers(), feed, listen: true };
  const notifications = startNotifications({ ...here.connections, listener }, options);
  onTestFinished(() => notifications.close());
  await waitFor('it to listen', () => feed.isComplete);
  const { resets } = watched(feed, 'a');
  const { stream } = (clients[0] as unknown as { connection: { stream: Socket } }).connection;
  stream.pause();

  vi.advanceTimersByTime(20_000);

  await waitFor('that message', () => resets() === 1);
  expect(clients).toHaveLength(2);
});
