// Four journeys through the real programs. The rest of `npm test` runs in the processes of the tests.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { killAgents, spawnAgent } from '../support/agent-process.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { browse, newAccount } from '../support/dashboard.ts';
import { completeTask, receiptOf } from '../support/one-robot.ts';
import { type DevProcess, run, startDev } from '../support/programs.ts';
import { robotClient, signInAt } from '../support/server-process.ts';
import { startServiceProxy } from '../support/service-proxy.ts';
import { createSvcUser } from '../support/svc.ts';

const evidence = { picked: 12, spoken: 'Grüße' };
let folder: string;
let dev: DevProcess;

const file = (name: string) => path.join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-smoke-'));
  await writeFile(file('evidence.json'), JSON.stringify(evidence));
  dev = await startDev(file('data'));
});
afterAll(async () => {
  killAgents();
  await dev?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function registerRobot(): Promise<string> {
  const { owner } = await signInAt(dev.url);
  const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
  return String(body.api_key);
}

describe('svc-server demo', () => {
  it('completes all steps and prints no escape sequences into a pipe', async () => {
    const { exitCode, stdout, stderr } = await run('svc-server', ['demo']);

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain('\u001b');
    expect(stdout.match(/^✔ /gm)).toHaveLength(10);
    expect(stdout).toMatch(/proof_hash +0x[0-9a-f]{64}/);
    expect(stdout).toContain('NOT verified.');
    expect(stdout).toMatch(/Every step held, in [\d.]+ s\./);
    expect(stdout).toMatch(/\nNext: .*docs\/guides\/robot-developer\.md.*\n.* --keep\.\n$/);
  });
});

describe('svc-agent', () => {
  it('accepts claims and evidence while the network is down, and delivers them when it is back', async () => {
    const apiKey = await registerRobot();
    const line = await startServiceProxy(dev.url);
    onTestFinished(() => line.close());
    await writeFile(file('robot-key'), apiKey, { mode: 0o600 });
    const env = {
      SVC_AGENT_URL: line.url,
      SVC_AGENT_KEY_FILE: file('robot-key'),
      SVC_AGENT_STATE_DIR: file('state'),
      SVC_AGENT_SOCKET: file('agent.sock'),
    };
    line.cut();
    await spawnAgent(env);

    const claimed = await run('svc-agent', ['claim', 'Pick parcels'], { env });
    const complete = ['complete', claimed.stdout.trim(), file('evidence.json')];
    const offline = await run('svc-agent', complete, { env });
    line.restore();
    const online = await run('svc-agent', [...complete, '--wait', '100'], { env });

    expect([claimed.exitCode, offline.exitCode, online.exitCode]).toEqual([0, 8, 0]);
    expect(JSON.parse(online.stdout)).toMatchObject({
      status: 'verified',
      proof_hash: hashProof(evidence),
    });
  });
});

describe('svc', () => {
  it('rotates the key of a robot, and verifies a proof that the robot anchored with the new one', async () => {
    const user = await createSvcUser(dev.url);
    await user.spawnSvc(['login', dev.url, '--key-file', user.keyFile]);
    const { stdout: oldKey } = await user.spawnSvc(['robots', 'create', 'arm']);

    const rotated = await user.spawnSvc(['robots', 'rotate-key', 'arm', '--yes']);

    const refused = robotClient(dev.url, oldKey.trim()).call('createTask', {
      body: { title: 'x' },
    });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_api_key' });
    const robot = robotClient(dev.url, rotated.stdout.trim());
    const id = await completeTask(robot);
    await writeFile(file('receipt.json'), JSON.stringify(await receiptOf(robot, id)));
    const verified = await user.spawnSvc([
      ...['verify', file('receipt.json'), '--rpc-url', dev.rpc_url],
      ...['--anchor-address', anvilAccounts[0].address],
    ]);
    expect(verified).toMatchObject({ exitCode: 0, stderr: '' });
    expect(verified.stdout).toMatch(/\nVerified: /);
    await user.remove();
  });
});

describe('the dashboard', () => {
  it('lets a wallet sign in, and shows a proof that the browser verifies', async () => {
    const robot = robotClient(dev.url, await registerRobot());
    const { proof_hash } = await receiptOf(robot, await completeTask(robot));
    const account = newAccount();
    const dashboard = await browse({ url: dev.url, stop: async () => {} });

    const { page } = await dashboard.openBySigningIn('/account', { account });

    await page.getByRole('main').getByText(account.address, { exact: true }).waitFor();
    await page.goto(`${dev.url}/verify/${proof_hash}`);
    await page.getByText('Verified', { exact: true }).waitFor();
    await dashboard.stop();
  });
});
