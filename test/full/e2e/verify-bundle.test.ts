import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/protocol/routes.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { type DevProcess, run, startDev } from '../../support/programs.ts';
import { startRpcProxy } from '../../support/rpc-proxy.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { robotClient, signInAt } from '../../support/server-process.ts';

type Bundle = Answer<'getBundle'>['body'];

describe('svc verify with a bundle', () => {
  let folder: string;
  let dev: DevProcess;
  let bundle: Bundle;
  const evidence = { picked: 12, spoken: 'Grüße' };
  const file = (name: string) => path.join(folder, name);

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-bundle-'));
    dev = await startDev(file('data'));
    const { owner } = await signInAt(dev.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm\u001b[2J\u202e7' } });
    const robot = robotClient(dev.url, String(body.api_key));
    const claim = await robot.call('createTask', { body: { title: 'Pick parcels' } });
    const params = { id: claim.body.task.id };
    await robot.call('completeTask', { params, body: { proof: evidence } });
    bundle = (await robot.call('getBundle', { params })).body;
    await writeFile(file('bundle.json'), JSON.stringify(bundle));
    await writeFile(file('evidence.json'), JSON.stringify(evidence));
  });

  afterAll(async () => {
    await dev?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const pin = ['--anchor-address', anvilAccounts[0].address];
  const verifyBy = (start: typeof run, name: string, ...args: string[]) =>
    start('svc', ['verify', file(name), '--rpc-url', dev.rpc_url, ...pin, ...args]);
  const verify = (name: string, ...args: string[]) => verifyBy(runInProcess, name, ...args);

  async function verifyChanged(change: object, ...args: string[]) {
    await writeFile(file('changed.json'), JSON.stringify({ ...bundle, ...change }));
    return verify('changed.json', ...args);
  }

  it('verifies it with the chain, and marks what the chain does not prove', async () => {
    const { exitCode, stdout, stderr } = await verifyBy(run, 'bundle.json');

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^✔ evidence .*\n(✔ .*\n)+Verified: /);
    expect(stdout).toContain("Stated, not proven: the robot's name, arm\\u{1b}[2J\\u{202e}7\n");
  });

  it('prints one JSON object with --json', async () => {
    const { stdout, stderr } = await verify('bundle.json', '--json');

    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      verified: true,
      proof_hash: bundle.proof_hash,
      tx_hash: bundle.anchor.tx_hash,
      stated: { robot_name: bundle.task.robot_name },
      nodes: [{ rpc: `rpc-1 (${new URL(dev.rpc_url).host})`, failed: [] }],
    });
  });

  it('verifies one without evidence, and a file of evidence with it', async () => {
    const { proof: _, ...bare } = bundle;
    await writeFile(file('bare.json'), JSON.stringify(bare));
    await writeFile(file('other.json'), '{"picked":13}');

    const alone = await verify('bare.json');
    const withFile = await verify('bare.json', '--proof', file('evidence.json'));
    const withOther = await verify('bare.json', '--proof', file('other.json'));

    expect(alone.stdout).not.toContain('✔ evidence ');
    expect([alone, withFile, withOther].map(({ exitCode }) => exitCode)).toEqual([0, 0, 3]);
  });

  it.each([
    ['title', (b: Bundle) => ({ claim: { ...b.claim, title: 'Pick nothing' } }), ['leaf']],
    ['evidence', () => ({ proof: { picked: 13 } }), ['evidence']],
    ['block', (b: Bundle) => ({ anchor: { ...b.anchor, block_number: '0' } }), ['block_number']],
  ])('refuses one with another %s', async (_, change, failed) => {
    const { exitCode, stdout } = await verifyChanged(change(bundle), '--json');

    expect(exitCode).toBe(3);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
    expect(checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual(
      failed,
    );
  });

  it.each([
    ['/note', () => ({ note: 'Certified' })],
    ['/claim/result', (b: Bundle) => ({ claim: { ...b.claim, result: 'inspected' } })],
    ['/evidence', () => ({ proof: undefined, evidence })],
    ['/anchor/a~1~0b', (b: Bundle) => ({ anchor: { ...b.anchor, 'a/~b': 1 } })],
  ])('refuses one with a member that no check covers (%s)', async (pointer, change) => {
    const { exitCode, stdout, stderr } = await verifyChanged(change(bundle));

    expect([exitCode, stdout]).toEqual([3, '']);
    expect(stderr).toContain(`No check covers ${pointer} in `);
  });

  it('compares the sender with the expected account', async () => {
    const [right, wrong] = [anvilAccounts[0].address, anvilAccounts[1].address];
    const named = ['verify', file('bundle.json'), '--rpc-url', dev.rpc_url, '--anchor-address'];

    const expected = await verify('bundle.json');
    const other = await runInProcess('svc', [...named, wrong]);

    expect([expected.exitCode, other.exitCode]).toEqual([0, 3]);
    expect(other.stdout).toMatch(/✘ sender .*\n[\s\S]*NOT verified\.\n/);
    expect(other.stdout).toMatch(new RegExp(`Sent by ${right}$`, 'im'));
  });

  it('calls every URL, and names the one that does not confirm it', async () => {
    const proxy = await startRpcProxy(dev.rpc_url);
    const second = ['--rpc-url', proxy.url.replace('//', '//user:password@')];
    const label = `rpc-2 (${proxy.url.replace('http://', '')})`;

    const agreed = await verify('bundle.json', ...second);
    proxy.intercept(({ method }) =>
      method.startsWith('eth_getTransaction') ? { result: null } : null,
    );
    const pruned = await verify('bundle.json', ...second);
    proxy.intercept(({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : null));
    const refused = await verify('bundle.json', ...second);
    proxy.cut();
    const silent = await verify('bundle.json', ...second);

    await proxy.close();
    const all = [agreed, pruned, refused, silent];
    expect(all.map(({ exitCode }) => exitCode)).toEqual([0, 7, 3, 7]);
    expect(agreed.stdout).toContain('All 2 RPC URLs say the same\nVerified: ');
    expect(pruned.stderr).toContain(`${label}: this node no longer keeps the transaction`);
    expect(refused.stdout).toContain(`${label}: The node is on chain 1, stated is 31337\n`);
    expect(silent.stderr).toContain(`${label}: no connection`);
    expect([refused.stdout, silent.stderr].join()).not.toMatch(/user|password/);
  });

  it('refuses one URL given twice as a usage error', async () => {
    const { exitCode, stderr } = await verify('bundle.json', '--rpc-url', dev.rpc_url);

    expect(exitCode).toBe(2);
    expect(stderr).toContain('--rpc-url twice');
  });

  it('refuses another format, and names the member that makes the bundle invalid', async () => {
    const newer = await verifyChanged({ format: 'svc-bundle/4' });
    const broken = await verifyChanged({ anchor: { ...bundle.anchor, tx_hash: '0x12' } });

    expect([newer.exitCode, newer.stdout]).toEqual([2, '']);
    expect(newer.stderr).toContain('format must be "svc-bundle/1", "svc-bundle/2" or');
    expect([broken.exitCode, broken.stdout]).toEqual([2, '']);
    expect(broken.stderr).toContain('anchor.tx_hash must be 32 bytes');
  });
});
