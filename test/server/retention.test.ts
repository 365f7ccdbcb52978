import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { readConfig } from '../../src/server/config.ts';
import { startServer } from '../../src/server/main.ts';
import { openStore } from '../../src/server/store/open-store.ts';
import { createTestClock } from '../support/clock.ts';
import { waitFor } from '../support/wait-for.ts';

const DAY = 24 * 3_600_000;
const wallet = `0x${'ab'.repeat(20)}`;
const robotId = '0190a5c0-0000-7000-8000-000000000000';
const clock = createTestClock();

it('is run by the server according to its configuration', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-retention-'));
  const config = readConfig({
    SVC_PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_CHAIN_RPC_URL: 'http://127.0.0.1:9',
    SVC_ANCHOR_PRIVATE_KEY: '11'.repeat(32),
    SVC_TELEMETRY_RETENTION_DAYS: '2',
  });
  const open = (serves: boolean) => openStore(config.database, { clock, serves });
  try {
    const before = await open(true);
    const now = clock.now();
    await before.grantCredits({ id: 'g', wallet, anchors: 1, gasWei: 1n, note: '', now });
    await before.createRobot({
      id: robotId,
      wallet,
      name: 'arm',
      description: null,
      keyHash: 'k'.repeat(64),
      createdAt: now,
    });
    const ages = [0, 1, 2, 3, 4];
    const samples = ages.map((age) => ({
      id: `${age}${robotId.slice(1)}`,
      recordedAt: now - age * DAY,
      batteryPct: null,
      state: null,
      metrics: '{}',
    }));
    await before.recordSamples({ robotId, keyHash: 'k'.repeat(64), samples, now });
    await before.close();

    const server = await startServer(config, { logger: pino({ level: 'silent' }), wall: clock });
    const beside = await open(false);
    const range = { from: 0, to: Number.MAX_SAFE_INTEGER };
    const page = { limit: 10, before: null };
    const kept = () => beside.listSamples({ wallet, robotId }, range, page);
    await waitFor('the old samples to be deleted', async () => (await kept())?.length === 3);
    await beside.close();
    await server.close();

    expect(config.eventRetentionMs).toBeNull();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
