import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Triggers } from '../../src/base/triggers.ts';
import {
  type Connections,
  openConnections,
} from '../../src/server/store/postgres/engine/connections.ts';
import {
  type Notifications,
  startNotifications,
} from '../../src/server/store/postgres/engine/notifications.ts';
import { ChangeFeed } from '../../src/server/store/stream.ts';
import { emptyDatabase } from '../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../support/temporary-database.ts';
import { waitFor } from '../support/wait-for.ts';

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
  WHERE datname = current_database() AND query = 'LISTEN svc_hints' AND state = 'idle'`;

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

it('tells those who wait on another instance', async () => {
  const woken = there.triggers.wait('completion:2', never());

  here.notifications.tell(['completion:1', 'completion:2']);

  await woken;
});

it('tells of more than a notification holds', async () => {
  const topics = Array.from({ length: 1_500 }, (_, i) => `completion:${i}`);
  const woken = topics.map((topic) => there.triggers.wait(topic, never()));

  here.notifications.tell(topics);

  await Promise.all(woken);
});

it('tells everybody of what is too much to name', async () => {
  const woken = there.triggers.wait('another', never());

  here.notifications.tell(Array.from({ length: 3_000 }, (_, i) => `completion:${i}`));

  await woken;
});

it('tells what came last before an instance ended', async () => {
  const woken = there.triggers.wait('queue', never());

  here.notifications.tell(['queue']);
  await here.notifications.close();

  await woken;
});

it('wakes everybody once it listens again, for what was missed in between', async () => {
  const woken = there.triggers.wait('queue', never());

  await session.query(`SELECT pg_terminate_backend(pid) ${LISTENERS}`);

  await woken;
  await listening();
  const told = there.triggers.wait('queue', never());
  here.notifications.tell(['queue']);
  await told;
  expect(there.triggers.size).toBe(0);
});
