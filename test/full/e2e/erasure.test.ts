import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { killServers, robotClient, signInAt, spawnServer } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

const ENVIRONMENT = { SVC_ANCHOR_TIMEOUT_MS: '1000' };

describe('a server that is killed after an erasure', () => {
  let dataDir: string;
  let anvil: Awaited<ReturnType<typeof startAnvil>>;
  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'svc-erasure-'));
    anvil = await startAnvil({ blockTime: 0.1 });
  });
  afterEach(async () => {
    killServers();
    await anvil.close();
    await rm(dataDir, { recursive: true });
  });

  const start = () => spawnServer({ dataDir, rpcUrl: anvil.url, environment: ENVIRONMENT });

  async function isOnDisk(key: Buffer): Promise<boolean> {
    const database = path.join(dataDir, 'svc.db');
    const log = await readFile(`${database}-wal`).catch(() => Buffer.alloc(0));
    return log.includes(key) || (await readFile(database)).includes(key);
  }

  async function handIn(url: string): Promise<{ id: string; erase(): Promise<number> }> {
    const { owner } = await signInAt(url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const robot = robotClient(url, String(body.api_key));
    const claimed = await robot.call('createTask', { body: { title: 'Watch the gate' } });
    const params = { id: claimed.body.task.id };
    const proof = { seen: 'the visitor at gate 7' };
    await waitFor('the evidence to be taken', async () => {
      await robot.call('completeTask', { params, body: { proof } }).catch(() => null);
      return (await owner.call('getTask', { params })).body.anchor;
    });
    const erase = async () => (await owner.call('eraseProof', { params })).status;
    return { id: params.id, erase };
  }

  it('leaves nothing that can decrypt the evidence, once it has restarted', async () => {
    const first = await start();
    const { id, erase } = await handIn(first.url);
    // As a backup would, it keeps the log from being emptied.
    const reader = new Database(path.join(dataDir, 'svc.db'), { readonly: true });
    reader.exec('BEGIN');
    const key = reader
      .prepare<[string], Buffer>(
        'SELECT key FROM proof_keys JOIN proofs ON key_id = proof_keys.id WHERE task_id = ?',
      )
      .pluck()
      .get(id);
    if (key === undefined) throw new Error('The evidence was not stored');

    const status = await erase();
    await first.kill('SIGKILL');
    reader.close();
    const left = await isOnDisk(key);
    await start();

    expect([status, left]).toEqual([200, true]);
    await waitFor('the key to be gone', async () => !(await isOnDisk(key)));
  });
});
