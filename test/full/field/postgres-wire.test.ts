// How PostgreSQL ends sessions: at any message, also in the same packet.
import { expect, it, onTestFinished } from 'vitest';
import { openConnections, sql } from '../../../src/server/store/postgres/engine/connections.ts';
import { startPostgresProxy } from '../../support/postgres-proxy.ts';
import { borrowDatabase } from '../../support/shared-postgres.ts';

/** More than a session of the test has. */
const MESSAGES = 30;
const ROUNDS = 21;

const count = sql('SELECT n, $1::text FROM generate_series(1, 3) AS n');

it('does not crash in 5000 sessions that end at any message', { timeout: 300_000 }, async () => {
  const database = await borrowDatabase();
  const proxy = await startPostgresProxy(database.url);
  const connections = openConnections({ url: proxy.url, poolMax: 2, pooler: false });
  onTestFinished(async () => {
    await connections.close();
    await proxy.close();
    await database.drop();
  });
  const query = () => connections.use((one) => one.rows(count, ['a']));
  const listen = async () => {
    const client = connections.listener();
    try {
      await client.connect();
      await client.query('LISTEN wire');
      await client.query("NOTIFY wire, 'a'");
    } finally {
      await client.end().catch(() => {});
    }
  };

  let failed = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const kind of ['fatal', 'cut'] as const) {
      for (let message = 0; message < MESSAGES; message += 1) {
        proxy.state.disturbance = { kind, message };
        const results = await Promise.allSettled([query(), query(), listen(), listen()]);
        failed += results.filter(({ status }) => status === 'rejected').length;
      }
    }
  }

  expect([...proxy.state.ended].sort()).toEqual([...'12ACDKRSTZ']);
  expect(failed).toBeGreaterThan(ROUNDS * 100);
  proxy.state.disturbance = null;
  expect(await query()).toHaveLength(3);
});
