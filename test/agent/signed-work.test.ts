import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../support/service-proxy.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;
const TASKS = ['succeeded', 'failed', 'succeeded'];

let service: TestService;
let proxy: ServiceProxy;
let user: SvcUser;
let agent: TestAgent;
let tasks: string[];

// A robot gets a key, its owner signs the key, and the robot works: what everything below looks at.
beforeAll(async () => {
  service = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 0 } });
  user = await createSvcUser(service.url);
  await user.signIn();
  const { api_key: apiKey } = await user.json('robots', 'create', 'arm-1');
  proxy = await startServiceProxy(service.url);
  agent = await createTestAgent({ url: proxy.url, apiKey });
  const { exitCode, stderr } = await runInProcess('svc-agent', ['identity', 'create'], {
    env: agent.environment,
  });
  expect([exitCode, stderr]).toEqual([0, expect.any(String)]);
  await agent.start();
  const sign = ['robots', 'sign-key', 'arm-1', '--key-file', user.keyFile, '--yes'];
  const isSigned = async () => (await user.svc(sign)).exitCode === 0;
  await waitFor('the proposed key', isSigned, LONG);
  const isActive = async () => (await agent.status()).signing.state === 'active';
  await waitFor('the key in use', isActive, LONG);
  tasks = [];
  proxy.cut();
  await agent.record([{ state: 'busy' }]);
  await waitFor('the cut', async () => !(await agent.status()).connected, LONG);
  for (const outcome of TASKS) {
    const id = await agent.claim({
      title: 'Sort the parcels',
      occurred_at: '2026-11-20T10:00:00+01:00',
    });
    await agent.call('POST', `/api/v1/tasks/${id}/complete`, {
      body: { proof: { parcels: tasks.length }, outcome },
      headers: { prefer: 'wait=0' },
    });
    tasks.push(id);
  }
  proxy.restore();
  const queued = async () => (await agent.status()).queues.completions.count;
  await waitFor('the delivery', async () => (await queued()) === 0, LONG);
  for (const id of tasks) {
    const verified = async () => (await user.json('tasks', 'show', id)).task.status === 'verified';
    await waitFor('the receipt', verified, LONG);
  }
});
afterAll(async () => {
  await agent?.remove();
  await proxy?.close();
  await user?.remove();
  await service.close();
});

it('is delivered in one call, if it was done without a network', () => {
  const sent = proxy.seenAt('/api/v1/tasks/batch').map(({ body }) => JSON.parse(body).items);

  const signed = { statement: expect.stringMatching(/^ey/) };
  expect(sent[0]).toEqual(
    tasks.map((id, i) => ({
      id,
      claim: expect.objectContaining({ title: 'Sort the parcels', ...signed }),
      completion: { proof: { parcels: i }, outcome: TASKS[i], ...signed },
    })),
  );
  expect(proxy.seenAt('/api/v1/tasks')).toEqual([]);
});

it('is promised its anchor, until it has its receipt', async () => {
  const log = agent.logLines.map((line) => JSON.parse(line));
  const kept = log.filter(({ msg }) => msg === 'promise kept');

  // A receipt may arrive before the keys of promises.
  for (const promise of kept) expect(promise).toMatchObject({ leaf_checked: true });
  const isSettled = async () => (await agent.status()).promises.kept === 0;
  await waitFor('the receipts', isSettled, LONG);
  expect((await agent.status()).promises.problems).toEqual([]);
});

it('shows the outcome and the receipt of signed work', async () => {
  const shown = await Promise.all(tasks.map((id) => user.json('tasks', 'show', id)));

  expect(shown.map(({ task }) => task.outcome)).toEqual(TASKS);
  for (const { verification } of shown) {
    expect(verification).toMatchObject({
      format: 'svc-receipt/2',
      statement_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
  }
});

it('writes a bundle that names who did it', async () => {
  const file = user.file('bundle.json');
  const written = await user.svc(['bundle', String(tasks[1]), '--output', file]);
  expect([written.exitCode, written.stderr]).toEqual([0, expect.any(String)]);
  const { signing, format } = JSON.parse(await readFile(file, 'utf8'));
  expect(format).toBe('svc-bundle/3');
  expect(signing.claim.statement).toEqual(expect.any(String));

  const report = await user.svc([
    'verify',
    file,
    '--anchor-address',
    anvilAccounts[0].address,
    '--owner',
    user.wallet,
  ]);

  expect(report.stdout).toContain('outcome failed');
  expect(report.exitCode).toBe(0);
});

it('proves that no statement was left out', async () => {
  const online = await user.svc(['robots', 'verify', 'arm-1']);
  const exported = await user.svc(['robots', 'export', 'arm-1']);
  const file = user.file('arm-1.jsonl');
  await writeFile(file, exported.stdout);
  const offline = await user.svc(['verify', file, '--owner', user.wallet]);

  expect([online.exitCode, offline.exitCode]).toEqual([0, 0]);
  expect(offline.stdout).toBe(online.stdout);
  expect(online.stdout).toMatch(
    /^COMPLETE\nRobot .*\n1 to 6 of key .{43}: none missing, none forked, 2 succeeded, 1 failed, 0 aborted; what came after 6 cannot be shown yet\.\n/,
  );
});

it.each([
  ['a missing statement', 11, (lines: string[]) => lines.toSpliced(4, 1)],
  [
    'another owner',
    3,
    (lines: string[]) =>
      lines.map((line) => line.replaceAll(user.wallet.toLowerCase(), `0x${'ab'.repeat(20)}`)),
  ],
  ['a changed outcome', 3, (lines: string[]) => lines.with(3, forged(String(lines[3])))],
  ['a cut line', 2, (lines: string[]) => lines.with(-1, String(lines.at(-1)).slice(0, -9))],
  [
    'a key text that the expected wallet did not sign',
    3,
    (lines: string[]) =>
      lines.with(
        1,
        String(lines[1]).replace(
          /("signature":"0x..)(.)/,
          (_, start: string, digit: string) => `${start}${digit === '0' ? '1' : '0'}`,
        ),
      ),
  ],
])('finds %s in an archive', async (_, exitCode, change) => {
  const { stdout } = await user.svc(['robots', 'export', 'arm-1']);
  const file = user.file('changed.jsonl');
  await writeFile(file, `${change(stdout.trim().split('\n')).join('\n')}\n`);

  const found = await user.svc(['verify', file, '--owner', user.wallet]);

  expect([found.exitCode, found.stdout]).toEqual([
    exitCode,
    expect.not.stringMatching(/^COMPLETE/),
  ]);
});

/** The line with another payload under the same signature. */
function forged(line: string): string {
  const { statement, ...rest } = JSON.parse(line);
  const [header, payload, signature] = statement.split('.');
  const text = Buffer.from(payload, 'base64url').toString().replace('"time":"2', '"time":"3');
  return JSON.stringify({
    ...rest,
    statement: [header, Buffer.from(text).toString('base64url'), signature].join('.'),
  });
}
