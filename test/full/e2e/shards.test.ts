import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  claimWork,
  completeAll,
  provenWork,
  readReceipts,
  type Work,
} from '../../support/anchored-work.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../../support/anvil.ts';
import { leavesIn, scanAnchors } from '../../support/chain-scan.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import {
  killServers,
  robotClient,
  type ServerProcess,
  spawnServer,
} from '../../support/server-process.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import { createSvcUser } from '../../support/svc.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';

const COUNT = 5;

let chain: TestChain;
let folder: string;
let databases: TemporaryDatabase[];
let shards: ServerProcess[];

beforeAll(async () => {
  chain = await startTestChain({ blockTime: 0.1 });
});
afterAll(() => chain?.close());

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-shards-'));
  databases = [await emptyDatabase(), await emptyDatabase()];
  shards = await Promise.all(
    databases.map(({ url }, i) =>
      spawnServer({
        dataDir: path.join(folder, String(i)),
        rpcUrl: chain.url,
        environment: {
          SVC_DATABASE_URL: url,
          SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[i]?.privateKey ?? '',
          SVC_ANCHOR_TIMEOUT_MS: '0',
        },
      }),
    ),
  );
});
afterEach(async () => {
  killServers();
  for (const database of databases) await database.drop();
  await rm(folder, { recursive: true, force: true });
});

it('two shards with a database and a key each anchor the work of their own accounts', async () => {
  const before = (await scanAnchors(chain.url)).length;
  const works = await Promise.all(shards.map(({ url }) => claimWork(url, COUNT)));
  await Promise.all(shards.map(({ url }, i) => completeAll(url, works[i] as Work)));
  const receipts = await Promise.all(
    shards.map(({ url }, i) => readReceipts(url, works[i] as Work)),
  );

  const anchors = (await scanAnchors(chain.url)).slice(before);
  const proven = works.flatMap((work, i) => provenWork(work, receipts[i] ?? [], anchors));
  expect(proven).toEqual(Array(2 * COUNT).fill(true));
  expect(leavesIn(anchors)).toBe(2 * COUNT);
});

it('a shard knows no robot of another, and its receipts are those of its own key', async () => {
  const [one, other] = shards as [ServerProcess, ServerProcess];
  const work = await claimWork(one.url, 1);
  await completeAll(one.url, work);
  const [receipt] = await readReceipts(one.url, work);
  const user = await createSvcUser(other.url);
  const file = path.join(folder, 'receipt.json');
  await writeFile(file, JSON.stringify(receipt));
  const verify = (url: string) =>
    user.svc(['verify', file, '--url', url, '--rpc-url', chain.url]).then((done) => done.exitCode);

  const stranger = robotClient(other.url, work.apiKey);
  const refused = await stranger.call('getOwnRobot').catch((error) => error.code);

  expect(refused).toBe('invalid_api_key');
  expect(await verify(one.url)).toBe(0);
  expect(await verify(other.url)).not.toBe(0);
  await user.remove();
});

it('each shard passes its own check', async () => {
  const work = await Promise.all(shards.map(({ url }) => claimWork(url, 1)));
  await Promise.all(shards.map(({ url }, i) => completeAll(url, work[i] as Work)));
  const checks = await Promise.all(
    databases.map(({ url }) =>
      runInProcess('svc-server', ['check'], { env: { SVC_DATABASE_URL: url } }),
    ),
  );

  expect(checks.map(({ stdout }) => stdout)).toEqual(Array(2).fill('Every invariant holds.\n'));
});
