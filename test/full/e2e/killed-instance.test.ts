import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { claimWork, completeAll, provenWork, readReceipts } from '../../support/anchored-work.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import { scanAnchors } from '../../support/chain-scan.ts';
import { killServers, spawnServer } from '../../support/server-process.ts';
import { emptyDatabase } from '../../support/shared-postgres.ts';
import type { TemporaryDatabase } from '../../support/temporary-database.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The lease has more than 10 s left when its holder is killed. */
const AT_MOST_MS = 8_000;

let chain: TestChain;
let dataDir: string;
let database: TemporaryDatabase;
let session: pg.Client;

beforeAll(async () => {
  chain = await startTestChain({ blockTime: 0.1 });
});
afterAll(() => chain?.close());

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-killed-'));
  database = await emptyDatabase();
  session = new pg.Client({ connectionString: database.url });
  await session.connect();
});
afterEach(async () => {
  killServers();
  await session.end();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

it('an instance anchors long before the lease of a killed one ends', async () => {
  const server = {
    dataDir,
    rpcUrl: chain.url,
    environment: { SVC_DATABASE_URL: database.url, SVC_ANCHOR_TIMEOUT_MS: '0' },
  };
  const holder = await spawnServer(server);
  await waitFor('its announced presence', async () => {
    const { rows } = await session.query('SELECT FROM leases WHERE presence IS NOT NULL');
    return rows.length === 1;
  });
  const heir = await spawnServer(server);
  const work = await claimWork(heir.url, 5);

  await holder.kill('SIGKILL');
  const killedAt = performance.now();
  await completeAll(heir.url, work);
  const receipts = await readReceipts(heir.url, work);
  const ms = performance.now() - killedAt;

  expect(provenWork(work, receipts, await scanAnchors(chain.url))).not.toContain(false);
  expect(ms).toBeLessThan(AT_MOST_MS);
  expect(await heir.kill('SIGTERM')).toBe('0');
});
