import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { createTestAgent } from '../../support/agent.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { killServers, robotClient, signInAt, spawnServer } from '../../support/server-process.ts';
import { newEvidence } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('a server on a restored database', () => {
  let dataDir: string;
  let anvil: Awaited<ReturnType<typeof startAnvil>>;
  beforeEach(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'svc-restore-'));
    anvil = await startAnvil({ blockTime: 0.1 });
  });
  afterEach(async () => {
    killServers();
    await anvil.close();
    await rm(dataDir, { recursive: true });
  });

  const serverBy = (start: typeof run, ...args: string[]) =>
    start('svc-server', args, {
      env: {
        SVC_DATA_DIR: dataDir,
        SVC_CHAIN_RPC_URL: anvil.url,
        SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      },
    });

  const server = (...args: string[]) => serverBy(runInProcess, ...args);

  /** Claims and completes one task; answers the code of what came of it. */
  async function anchorOne(url: string, apiKey: string): Promise<string> {
    const robot = robotClient(url, apiKey);
    const { body } = await robot.call('createTask', { body: { title: 'Sort' } });
    const completion = { params: { id: body.task.id }, body: { proof: newEvidence() } };
    return robot.call('completeTask', completion).then(
      (answer) => (answer.status === 200 ? 'verified' : answer.body.error),
      ({ code }: { code: string }) => code,
    );
  }

  it('anchors again once the chain is known to have no unknown anchor', async () => {
    // It looks again after a third of its lease whether the queue is still held.
    const environment = { SVC_ANCHOR_TIMEOUT_MS: '500', LEASE_TTL_MS: '3000' };
    const first = await spawnServer({ dataDir, rpcUrl: anvil.url, environment });
    const { owner } = await signInAt(first.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const anchorOneAt = (url: string) => anchorOne(url, String(body.api_key));
    await waitFor('an anchor', async () => (await anchorOneAt(first.url)) === 'verified', 30_000);
    const file = path.join(dataDir, 'backup.db');
    expect((await server('backup', file)).exitCode).toBe(0);
    await first.kill('SIGKILL');
    expect((await server('restore', file, '--force')).exitCode).toBe(0);

    const second = await spawnServer({ dataDir, rpcUrl: anvil.url, environment });
    const held = await anchorOneAt(second.url);
    const ready = await (await fetch(`${second.url}/readyz`)).json();
    const reconcile = await serverBy(run, 'reconcile', '--json');

    expect(held).toBe('anchor_queued');
    expect(ready).toEqual({ status: 'degraded', degraded: ['restored'] });
    expect([reconcile.exitCode, reconcile.stderr]).toEqual([0, '']);
    expect(JSON.parse(reconcile.stdout)).toEqual({
      ok: true,
      findings: [],
      foreign: [],
      taken: [],
    });
    await waitFor('an anchor', async () => (await anchorOneAt(second.url)) === 'verified', 30_000);
    await second.kill('SIGTERM');
    expect((await server('check')).exitCode).toBe(0);
  });

  it('anchors what it promised after the backup, with the time that it promised', async () => {
    const environment = { SVC_ANCHOR_TIMEOUT_MS: '500', LEASE_TTL_MS: '3000' };
    const first = await spawnServer({ dataDir, rpcUrl: anvil.url, environment });
    const { owner } = await signInAt(first.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const apiKey = String(body.api_key);
    const isAnchored = async () => (await anchorOne(first.url, apiKey)) === 'verified';
    await waitFor('an anchor', isAnchored, 30_000);
    const file = path.join(dataDir, 'backup.db');
    await server('backup', file);
    expect((await server('hold')).exitCode).toBe(0);
    const isHeld = async () => (await fetch(`${first.url}/readyz`)).text();
    await waitFor('the hold', async () => (await isHeld()).includes('degraded'), 30_000);
    const agent = await createTestAgent({ url: first.url, apiKey });
    onTestFinished(() => agent.remove());
    await agent.start();
    const id = await agent.claim();
    await agent.complete(id, newEvidence());
    const promises = async () => (await agent.status()).promises;
    await waitFor('the promise', async () => (await promises()).kept === 1, 30_000);
    const task = async () => (await owner.call('getTask', { params: { id } })).body.task;
    const before = await task();
    await first.kill('SIGKILL');
    await server('restore', file, '--force');
    const again = { ...environment, SVC_PORT: new URL(first.url).port };
    await spawnServer({ dataDir, rpcUrl: anvil.url, environment: again });
    const { exitCode } = await serverBy(run, 'reconcile');

    expect(exitCode).toBe(0);
    await waitFor('the receipt', async () => (await promises()).kept === 0, 30_000);
    expect(await task()).toEqual({ ...before, status: 'verified' });
    expect((await promises()).problems).toEqual([]);
  });

  it('stays held if anchors were made after the backup', async () => {
    const environment = { SVC_ANCHOR_TIMEOUT_MS: '5000' };
    const first = await spawnServer({ dataDir, rpcUrl: anvil.url, environment });
    const { owner } = await signInAt(first.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const anchored = () =>
      waitFor(
        'an anchor',
        async () => (await anchorOne(first.url, String(body.api_key))) === 'verified',
      );
    await anchored();
    const file = path.join(dataDir, 'backup.db');
    await server('backup', file);
    await anchored();
    await first.kill('SIGTERM');
    await server('restore', file, '--force');

    const reconcile = await server('reconcile');

    expect(reconcile.exitCode).toBe(1);
    expect(reconcile.stdout).toMatch(/nonce \d+ has an anchor that this database does not know/);
  });

  it('stays held if the first anchor of its account was made after the backup', async () => {
    const environment = { SVC_ANCHOR_TIMEOUT_MS: '5000' };
    const first = await spawnServer({ dataDir, rpcUrl: anvil.url, environment });
    const { owner } = await signInAt(first.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const file = path.join(dataDir, 'backup.db');
    await server('backup', file);
    await waitFor(
      'an anchor',
      async () => (await anchorOne(first.url, String(body.api_key))) === 'verified',
    );
    await first.kill('SIGTERM');
    await server('restore', file, '--force');

    const reconcile = await server('reconcile');

    expect(reconcile.exitCode).toBe(1);
    expect(reconcile.stdout).toContain(
      'has sent transactions, and this database knows none of them',
    );
  });

  it('is not released without the key that will anchor', async () => {
    const { exitCode, stderr } = await runInProcess('svc-server', ['reconcile'], {
      env: { SVC_DATA_DIR: dataDir, SVC_CHAIN_RPC_URL: anvil.url },
    });

    expect(exitCode).toBe(2);
    expect(stderr).toContain('SVC_ANCHOR_KEY_FILE is not set');
  });
});
