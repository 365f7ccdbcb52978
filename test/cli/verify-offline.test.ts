import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Bundle } from '../../src/proof/bundle.ts';
import { NOT_FINAL, unchangedSince } from '../../src/proof/subject/verdict.ts';
import type { Answer } from '../../src/protocol/routes.ts';
import { startRpcProxy } from '../support/rpc-proxy.ts';
import { newEvidence, startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../support/svc.ts';

let service: TestService;
let user: SvcUser;
let plain: Answer<'getBundle'>['body'];
let proven: Bundle;
let from: string;
const proof = newEvidence();

/** No service, no node: an address where nothing listens. */
const DEAD = 'http://127.0.0.1:9';
const nowhere = { env: { SVC_URL: DEAD } };

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  user = await createSvcUser(service.url);
  await user.signIn();
  const { robot } = await registerRobot(service.url, user, 'arm');
  const { body } = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  const params = { id: body.task.id };
  await robot.call('completeTask', { params, body: { proof: proof as never } });
  plain = (await robot.call('getBundle', { params })).body;
  from = plain.anchor.from;
  await writeFile(user.file('plain.json'), JSON.stringify(plain));
  const file = user.file('proven.json');
  const args = ['--rpc-url', service.rpcUrl, '--output', file];
  await user.svc(['bundle', '--upgrade', user.file('plain.json'), ...args]);
  proven = JSON.parse(await readFile(file, 'utf8'));
});

afterAll(async () => {
  await user?.remove();
  await service?.close();
});

const verify = (name: string, ...args: string[]) =>
  user.svc(['verify', user.file(name), '--anchor-address', from, ...args], nowhere);
const atBlock = () => ['--block-hash', plain.anchor.block_hash];
const write = (name: string, bundle: object) => writeFile(user.file(name), JSON.stringify(bundle));
const since = (hasEvidence: boolean) =>
  unchangedSince(plain.anchor.anchored_at, { evidence: hasEvidence });
const failedOf = (stdout: string) =>
  (JSON.parse(stdout).checks as { name: string; status: string }[])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => name);

describe('svc bundle --upgrade', () => {
  it('adds the chain proof and keeps everything else', () => {
    const { chain_proof, format, ...same } = proven;
    const { format: _, ...before } = plain;

    expect(format).toBe('svc-bundle/2');
    expect(chain_proof?.nodes.length).toBeGreaterThan(0);
    expect(same).toEqual(before);
  });

  it.each([
    ['neither a task nor a file', [], 'Name either a task or a bundle'],
    ['--rpc-url without a file', ['01a1fa88', '--rpc-url', DEAD], 'needs --upgrade'],
    ['a file that has one already', ['--upgrade', 'proven.json'], 'has a chain proof already'],
  ])('refuses %s', async (_, args, message) => {
    const named = args.map((arg) => (arg.endsWith('.json') ? user.file(arg) : arg));

    const { exitCode, stderr } = await user.svc(['bundle', ...named]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('writes nothing for a bundle of another block', async () => {
    await write('elsewhere.json', { ...plain, anchor: { ...plain.anchor, tx_index: 7 } });

    const args = ['bundle', '--upgrade', user.file('elsewhere.json'), '--rpc-url', service.rpcUrl];
    const { exitCode, stdout, stderr } = await user.svc(args);

    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain('There is no chain proof for this bundle');
  });
});

describe('svc verify --block-hash', () => {
  it('verifies a bundle with nothing but the hash of its block', async () => {
    const { exitCode, stdout, stderr } = await verify('proven.json', ...atBlock());

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain(
      'Verified: the anchor is as final as the block whose hash you gave.\n',
    );
    expect(stdout).toContain(`  sender    ${from.toLowerCase()}, named by --anchor-address\n`);
    expect(stdout).toContain('  evidence  matches\n  read      nothing: ');
  });

  it('lists unchecked items with --json', async () => {
    const { stdout } = await verify('proven.json', ...atBlock(), '--json');

    const found = JSON.parse(stdout);
    expect(found).toMatchObject({
      outcome: 'verified',
      recognized: 'bundle',
      basis: 'block_hash',
      finality: null,
      confirmations: null,
    });
    expect(found.checks).toContainEqual({
      name: 'status',
      status: 'not_checked',
      detail: 'The commitment does not depend on it',
    });
  });

  it('does not identify an account', async () => {
    const args = ['verify', user.file('proven.json'), ...atBlock()];

    const { exitCode, stdout, stderr } = await user.svc(args, nowhere);

    expect([exitCode, stderr]).toEqual([9, '']);
    expect(stdout).toContain('Anchored by an account you have not named.\n');
    expect(stdout).toContain(`\n  sender    ${from}, not named\n`);
    expect(stdout).not.toContain('has not changed since');
  });

  it.each([
    ['3 before 9: changed evidence of an account that nothing names', ['forged.json'], 3],
    ['7 before 9: a node that does not answer, and no account', ['proven.json', DEAD], 7],
    ['7 before 3: a node that does not answer, and changed evidence', ['forged.json', DEAD], 7],
  ])('exits with the first of two codes: %s', async (_, [name = '', node], code) => {
    await write('forged.json', { ...proven, proof: {} });
    const source = node === undefined ? atBlock() : ['--rpc-url', node];

    const { exitCode } = await user.svc(['verify', user.file(name), ...source], nowhere);

    expect(exitCode).toBe(code);
  });

  it.each([
    ['another block', () => proven, `0x${'ab'.repeat(32)}`, ['header', 'block_hash']],
    ['other evidence', () => ({ ...proven, proof: {} }), null, ['evidence']],
    [
      'another title',
      () => ({ ...proven, claim: { ...proven.claim, title: 'Rest' } }),
      null,
      ['leaf'],
    ],
  ])('refuses %s', async (_, make, hash, failed) => {
    await write('forged.json', make());

    const at = ['--block-hash', hash ?? plain.anchor.block_hash];
    const { exitCode, stdout } = await verify('forged.json', ...at, '--json');

    expect([exitCode, failedOf(stdout)]).toEqual([3, failed]);
  });

  it('reports other evidence as changed', async () => {
    await write('changed.json', { ...proven, proof: { changed: true } });

    const { stdout } = await verify('changed.json', ...atBlock());

    expect(stdout).toContain('\nNOT verified.\nThe evidence was changed.\n');
  });

  it('ends with the time since which the evidence has not changed', async () => {
    const { exitCode, stdout } = await verify('proven.json', ...atBlock());

    expect([exitCode, stdout.split('\n').at(-2)]).toEqual([0, since(true)]);
    expect(stdout).toContain('\nNot proven: that the block whose hash you gave is final.');
  });

  it('names the stated block and both hashes, if the hash is that of another block', async () => {
    const other = `0x${'ab'.repeat(32)}`;

    const { exitCode, stdout } = await verify('proven.json', '--block-hash', other);

    const { block_number: number, block_hash: hash } = plain.anchor;
    expect(exitCode).toBe(3);
    expect(stdout).toContain(
      `The header of block ${number} in the bundle hashes to ${hash}, given is ${other}\n`,
    );
    expect(stdout).toContain('look up the stated block again.');
  });

  it.each([
    ['a bundle without a chain proof', 'plain.json', [], 'needs a bundle with a chain proof'],
    ['--watch', 'proven.json', ['--watch'], '--watch needs'],
    ['--rpc-url', 'proven.json', ['--rpc-url', DEAD], 'Use either'],
    ['a hash that is cut short', 'proven.json', ['--block-hash', '0x12'], 'must be a hash'],
  ])('refuses %s', async (_, name, args, message) => {
    const { exitCode, stderr } = await verify(name, ...atBlock(), ...args);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('svc verify --rpc-url, of a bundle with a chain proof', () => {
  it.each([
    ['this evidence', 'proven.json', true],
    ['the evidence with this hash', 'bare.json', false],
  ])('dates %s, and reports whether the block is final', async (_, name, hasEvidence) => {
    const { proof: __, ...bare } = proven;
    await write('bare.json', bare);

    const { stdout } = await verify(name, '--rpc-url', service.rpcUrl);

    const isFinal = /\nVerified: \d+ confirmations?, finalized\./.test(stdout);
    const last = isFinal ? since(hasEvidence) : `${since(hasEvidence)} ${NOT_FINAL}`;
    expect(stdout.split('\n').at(-2)).toBe(last);
  });

  it('asks the node for the block alone, and with --full for everything', async () => {
    const proxy = await startRpcProxy(service.rpcUrl);
    const onChain = ['--rpc-url', proxy.url];

    const byBlock = await verify('proven.json', ...onChain);
    const asked = [...proxy.asked.methods];
    const full = await verify('proven.json', ...onChain, '--full');
    const askedForAll = proxy.asked.methods.slice(asked.length);

    await proxy.close();
    expect([byBlock.exitCode, full.exitCode]).toEqual([0, 0]);
    expect(byBlock.stdout).toMatch(/Verified: \d+ confirmations?, \w+\.\n/);
    expect(byBlock.stdout).toContain('  read      block header, from the chain');
    expect(asked.filter((method) => method.includes('Transaction'))).toEqual([]);
    expect(full.stdout).toContain(
      '  read      transaction, transaction receipt and block, from the chain\n',
    );
    expect(askedForAll).toContain('eth_getTransactionReceipt');
  });

  it('verifies at a node that has dropped old transactions, and reports a transaction that it still needs', async () => {
    const proxy = await startRpcProxy(service.rpcUrl);
    proxy.intercept(({ method }) =>
      method.startsWith('eth_getTransaction')
        ? { error: { code: 4444, message: 'pruned history unavailable' } }
        : null,
    );

    const byBlock = await verify('proven.json', '--rpc-url', proxy.url);
    const full = await verify('plain.json', '--rpc-url', proxy.url);

    await proxy.close();
    expect(byBlock.exitCode).toBe(0);
    expect([full.exitCode, full.stderr]).toEqual([
      7,
      expect.stringContaining('this node no longer keeps the transaction'),
    ]);
  });

  it('refuses the bundle if the node has another block at the number', async () => {
    const proxy = await startRpcProxy(service.rpcUrl);
    proxy.handle(async ({ calls, forward, answer }) => {
      const answers = await forward(calls);
      answer(
        answers.map((one, i) =>
          calls[i]?.method === 'eth_getBlockByNumber' && 'result' in one && one.result !== null
            ? { result: { ...(one.result as object), hash: `0x${'ab'.repeat(32)}` } }
            : one,
        ),
      );
    });

    const { exitCode, stdout } = await verify('proven.json', '--rpc-url', proxy.url);

    await proxy.close();
    expect(exitCode).toBe(3);
    expect(stdout).toContain('The node has another block at the stated number');
  });
});

it.each([
  ['verify', ['verify', 'proven.json']],
  ['bundle --upgrade', ['bundle', '--upgrade', 'plain.json']],
])('svc %s uses no node of another machine over http', async (_, [command = '', ...args]) => {
  const files = args.map((one) => (one.endsWith('.json') ? user.file(one) : one));

  const { exitCode, stderr } = await user.svc([command, ...files, '--rpc-url', 'http://192.0.2.1']);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('--insecure-http');
});

describe('--report', () => {
  it('writes a certificate without a network', async () => {
    await write('proven.json', proven);
    const file = user.file('certificate.html');

    const { exitCode } = await verify('proven.json', ...atBlock(), '--report', file);

    expect(exitCode).toBe(0);
    const html = await readFile(file, 'utf8');
    expect(html).toContain('<h1>Certificate of an anchored proof</h1>');
    expect(html).toContain('Pick parcels');
    expect(html).toContain(plain.anchor.block_hash);
    expect(html).toContain(`svc verify proven.json --block-hash ${plain.anchor.block_hash}`);
    expect(html).toContain(since(true));
  });

  it('has the block hash that the node reports', async () => {
    const file = user.file('from-chain.html');

    const args = ['--rpc-url', service.rpcUrl, '--report', file];
    const { exitCode } = await user.svc(['verify', plain.proof_hash, ...args]);

    expect(exitCode).toBe(0);
    const html = await readFile(file, 'utf8');
    expect(html).toContain(plain.anchor.block_hash);
    expect(html).toContain(`${service.url}/verify/${plain.proof_hash}`);
    expect(html).not.toContain(service.rpcUrl);
  });

  it('reports a refuted proof as not verified', async () => {
    await write('forged.json', { ...proven, claim: { ...proven.claim, title: 'Rest' } });
    const file = user.file('refused.html');

    const { exitCode } = await verify('forged.json', ...atBlock(), '--report', file);

    expect(exitCode).toBe(3);
    expect(await readFile(file, 'utf8')).toContain('<h1>Not verified</h1>');
  });

  it('says that the chain was not read if the service alone states the anchor', async () => {
    const file = user.file('stated.html');

    await user.svc(['verify', plain.proof_hash, '--report', file]);

    const html = await readFile(file, 'utf8');
    expect(html).toContain('<h1>Statement of the service, not checked on the chain</h1>');
    expect(html).toContain('31337, a test chain');
  });

  it('names the options of the check in words that a shell reads as they are', async () => {
    await write("b$(touch pwned)';id.json", proven);
    const file = user.file('quoted.html');
    const sender = ['--anchor-address', plain.anchor.from];

    await verify("b$(touch pwned)';id.json", ...atBlock(), ...sender, '--report', file);

    const html = await readFile(file, 'utf8');
    expect(html).toContain('svc verify &#39;b$(touch pwned)&#39;\\&#39;&#39;;id.json&#39;');
    expect(html).toContain(`--anchor-address ${plain.anchor.from}`);
  });

  it('does not replace what it verifies', async () => {
    await write('kept.json', proven);

    const file = user.file('kept.json');
    const { exitCode } = await verify('kept.json', ...atBlock(), '--report', file);

    expect(exitCode).toBe(2);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(proven);
  });

  it('names the file that cannot be written', async () => {
    const file = user.file('none/certificate.html');

    const { exitCode, stderr } = await verify('proven.json', ...atBlock(), '--report', file);

    expect([exitCode, stderr]).toEqual([expect.any(Number), expect.stringContaining(file)]);
  });
});
