import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { openConnections, sql } from '../../../src/server/store/postgres/engine/connections.ts';
import { cannotUse } from '../../../src/server/store/postgres/engine/errors.ts';
import { accessTo } from '../../../src/server/store/postgres/engine/transactions.ts';
import { failsWith } from '../../contract/world.ts';
import { startPostgres } from '../../support/postgres.ts';
import { sharedPostgres } from '../../support/shared-postgres.ts';
import { waitFor } from '../../support/wait-for.ts';

const one = sql('SELECT 1 AS one');
/** More often than a conflict is repeated. */
const REFUSALS = 6;

it('is retried while it refuses connections, as during a restart', async () => {
  const target = new URL((await sharedPostgres()).url);
  let refused = 0;
  const url = await listen((client) => {
    if (refused < REFUSALS) {
      refused += 1;
      client.destroy();
      return;
    }
    const server = connect(Number(target.port || 5432), target.hostname);
    server.on('error', () => client.destroy());
    server.pipe(client).pipe(server);
  });
  const through = new URL(target);
  through.host = url.host;

  expect(await access(`${through.href}/postgres`).rows(one)).toEqual([{ one: 1 }]);

  expect(refused).toBe(REFUSALS);
});

it('is retried while it has no free connection', async () => {
  const server = await startPostgres([
    'max_connections=1',
    'superuser_reserved_connections=0',
    'max_wal_senders=0',
  ]);
  onTestFinished(() => server.close());
  const url = `${server.url}/postgres`;
  const holder = await waitFor('the only connection', async () => {
    const client = new pg.Client({ connectionString: url });
    return client.connect().then(
      () => client,
      () => null,
    );
  });
  const refusal = await connectionsTo(url)
    .use(async () => {})
    .catch((error: unknown) => error);
  expect(cannotUse(refusal)).toMatchObject({
    ...failsWith('database_unusable'),
    hint: expect.stringContaining('SVC_DATABASE_POOL_MAX'),
  });

  const answer = access(url).rows(one);
  await holder.end();

  expect(await answer).toEqual([{ one: 1 }]);
});

it('refuses a caller without a password, which is reported', async () => {
  const closed: Promise<unknown>[] = [];
  const { host } = await listen((client) => {
    closed.push(once(client, 'close'));
    // AuthenticationSASL, then AuthenticationSASLContinue:
    // https://www.postgresql.org/docs/current/protocol-message-formats.html
    const messages = [authentication(10, 'SCRAM-SHA-256\0\0'), authentication(11, 'r=nonce')];
    client.on('data', () => client.write(messages.shift() ?? ''));
  });

  const refusal = await connectionsTo(`postgres://svc@${host}/svc`)
    .use(async () => {})
    .catch((error: unknown) => error);

  expect(cannotUse(refusal)).toMatchObject({
    ...failsWith('database_unusable'),
    message: expect.stringContaining('asks for a password'),
    hint: expect.stringContaining('PGPASSFILE'),
  });
  expect(closed).toHaveLength(1);
  await closed[0];
});

function authentication(kind: number, text: string): Buffer {
  const head = Buffer.alloc(9);
  head.write('R');
  head.writeInt32BE(8 + text.length, 1);
  head.writeInt32BE(kind, 5);
  return Buffer.concat([head, Buffer.from(text)]);
}

function connectionsTo(url: string) {
  const connections = openConnections({ url, poolMax: 1, pooler: false });
  onTestFinished(() => connections.close());
  return connections;
}

function access(url: string) {
  return accessTo(connectionsTo(url), { instant: () => null });
}

async function listen(onClient: (client: Socket) => void): Promise<URL> {
  const server = createServer((client) => {
    client.on('error', () => {});
    onClient(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return new URL(`postgres://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
