import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import type { Verification } from '../../src/protocol/resources.ts';
import type { Answer } from '../../src/protocol/routes.ts';
import { anvilAccounts } from '../support/anvil.ts';
import { newEvidence, startTestService, type TestService } from '../support/service.ts';
import { createSvcUser, registerRobot, type SvcUser } from '../support/svc.ts';
import { waitFor } from '../support/wait-for.ts';

/** The last digit is another one, so the checksum is wrong. */
const mistyped = anvilAccounts[0].address.replace(/.$/, '7');

let service: TestService;
let user: SvcUser;
let robot: Awaited<ReturnType<typeof registerRobot>>['robot'];
let receipt: Verification;
let bundle: Answer<'getBundle'>['body'];

beforeAll(async () => {
  service = await startTestService({ chain: 'manual' });
  user = await createSvcUser(service.url);
  await user.signIn();
  ({ robot } = await registerRobot(service.url, user, 'arm\u202e7'));
  const params = { id: await anchor(newEvidence()) };
  const { body } = await robot.call('getTask', { params });
  receipt = body.verification as Verification;
  bundle = (await robot.call('getBundle', { params })).body;
  await writeFile(user.file('receipt.json'), JSON.stringify({ verification: receipt }));
  await writeFile(user.file('bundle.json'), JSON.stringify(bundle));
});

afterAll(async () => {
  await user?.remove();
  await service?.close();
});

/** A task whose evidence is on its way to the chain. */
async function handIn(proof: object) {
  const { body } = await robot.call('createTask', { body: { title: 'Pick parcels' } });
  const { id } = body.task;
  const done = robot.call('completeTask', { params: { id }, body: { proof: proof as never } });
  const sent = async () => {
    const { body } = await robot.call('getTask', { params: { id } });
    return body.anchor?.state === 'submitted';
  };
  return { id, done, sent };
}

/** Hands in and mines the one block that the receipt waits for: included, not more. */
async function anchor(proof: object): Promise<string> {
  const { id, done, sent } = await handIn(proof);
  await waitFor('the transaction', sent);
  await service.rpc('evm_mine');
  await done;
  return id;
}

const verify = (...args: string[]) => user.svc(['verify', ...args]);
const OTHER_TASK = '01940000-0000-7000-8000-000000000009';
const proofPage = () =>
  `https://stranger.example/verify/${receipt.proof_hash}?task_id=${receipt.task_id}`;
const onChain = () => ['--rpc-url', service.rpcUrl];

describe('svc verify HASH', () => {
  it('without a node relies on the service, and says so', async () => {
    const { exitCode, stdout, stderr } = await verify(receipt.proof_hash);

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      /^✔ service .*\n✔ sender .*\nThe service says: \d+ confirmations?, \w+\.\n/,
    );
    expect(stdout).toContain(
      `only ${service.url} states this. Check the chain with --rpc-url URL.\n`,
    );
    expect(stdout).toMatch(
      /\nThe service states: The evidence with this hash has not changed since /,
    );
    expect(stdout).not.toContain('Verified');
  });

  it('with a node compares the statement of the service with the chain', async () => {
    const { exitCode, stdout, stderr } = await verify(receipt.proof_hash, ...onChain());

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^(✔ .*\n)+Verified: \d+ confirmations?, \w+\.\n/);
    expect(stdout).toContain("Stated, not proven: the robot's name, arm\\u{202e}7\n");
    expect(stdout).toContain("Stated, not proven: the task's title, Pick parcels\n");
    expect(stdout).not.toContain('Not checked against the chain');
  });

  it('names what was verified, and the source of the sender', async () => {
    const byService = await verify(receipt.proof_hash, ...onChain());
    const pin = ['--anchor-address', anvilAccounts[0].address];
    const byCaller = await verify(receipt.proof_hash, ...onChain(), ...pin);

    const sender = anvilAccounts[0].address.toLowerCase();
    expect(byService.stdout).toContain(`  sender    ${sender}, named by ${service.url}\n`);
    const isStated = `Not proven: that the sender is the account of ${service.url}: only the service`;
    expect(byService.stdout).toContain(isStated);
    expect(byCaller.stdout).not.toContain('Not proven: that the sender');
    expect(byCaller.stdout).toContain(`  sender    ${sender}, named by --anchor-address\n`);
    expect(byCaller.stdout).toContain('  chain     31337, a test chain\n  ');
    expect(byCaller.stdout).toContain('  evidence  not included\n');
  });

  it.each([
    ['in upper case', () => `0x${receipt.proof_hash.slice(2).toUpperCase()}`, undefined],
    ['from standard input', () => '-', () => `${receipt.proof_hash}\n`],
  ])('accepts the hash %s', async (_, argument, input) => {
    const args = ['verify', argument(), '--json', ...onChain()];

    const { stdout } = await user.svc(args, input && { input: input() });

    expect(JSON.parse(stdout)).toMatchObject({
      verified: true,
      basis: 'chain',
      service: service.url,
      proof_hash: receipt.proof_hash,
      stated: { title: 'Pick parcels' },
    });
  });

  it('refuses a truncated hash as a hash, not as a file', async () => {
    const { exitCode, stderr } = await verify(receipt.proof_hash.slice(0, -1));

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('is not a hash')]);
  });

  it.each([
    ['a proof hash without 0x', () => receipt.proof_hash.slice(2), 'proof hash'],
    ['the transaction of one proof', () => receipt.tx_hash, 'transaction hash'],
    ['the address of a proof page', () => proofPage(), 'proof URL'],
    ['a task id', () => receipt.task_id, 'task id'],
    ['a receipt', () => user.file('receipt.json'), 'receipt'],
    ['a bundle', () => user.file('bundle.json'), 'bundle'],
    ['evidence', () => user.file('evidence.json'), 'evidence'],
  ])('recognizes %s, and says so', async (_, argument, kind) => {
    await writeFile(user.file('evidence.json'), JSON.stringify(bundle.proof));

    const { exitCode, stdout } = await verify(argument(), ...onChain());
    const asJson = await verify(argument(), '--json');

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`\n  input     ${kind}\n`);
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      recognized: kind,
      outcome: 'verified',
      tx_hash: receipt.tx_hash,
    });
  });

  it.each([
    ['a task id', () => OTHER_TASK],
    ['an address of a proof page', () => `${proofPage().split('?')[0]}?task_id=${OTHER_TASK}`],
  ])('refuses the answer about another task for %s', async (_, argument) => {
    const { exitCode, stdout } = await verify(argument(), ...onChain());

    expect([exitCode, stdout]).toEqual([5, '']);
  });

  it('never contacts the service of a proof page, because anyone can send a link', async () => {
    const { exitCode, stderr } = await user.svc(['verify', proofPage()], { env: { SVC_URL: '' } });
    const stranger = await createSvcUser(service.url);
    const unasked = await stranger.svc(['verify', proofPage()]);

    await stranger.remove();
    expect([exitCode, stderr]).toEqual([0, '']);
    expect([unasked.exitCode, unasked.stderr]).toEqual([
      2,
      expect.stringContaining('No service is known'),
    ]);
  });

  it('reports that a transaction of several proofs does not select one of them', async () => {
    const both = [await handIn(newEvidence()), await handIn(newEvidence())];
    await waitFor('one transaction', async () => (await both[0]?.sent()) && both[1]?.sent());
    await service.rpc('evm_mine');
    await Promise.all(both.map(({ done }) => done));
    const { body } = await robot.call('getTask', { params: { id: both[0]?.id ?? '' } });

    const { exitCode, stderr } = await verify(body.verification?.tx_hash ?? '');

    if (body.verification?.inclusion === null) return; // Each went out alone.
    expect(exitCode).toBe(2);
    expect(stderr).toContain('is the transaction of a batch of 2 proofs');
  });

  it('names the number in the evidence that counts as 0', async () => {
    await writeFile(user.file('tiny.json'), '{"a":[1e-400]}');

    const { exitCode, stderr } = await verify(user.file('tiny.json'));

    expect(exitCode).toBe(5);
    expect(stderr).toContain('The number at /a/0 in ');
  });

  it('names the task that it found among several', async () => {
    const proof = newEvidence();
    await anchor(proof);
    await anchor(proof);

    const { exitCode, stdout } = await verify(hashProof(proof), ...onChain());

    expect(exitCode).toBe(0);
    expect(stdout).toContain('2 tasks have this hash');
  });

  it('does not read the hash from a file, which may hold a private key: nothing is sent', async () => {
    await writeFile(user.file('wallet.key'), `${receipt.proof_hash}\n`);

    const { exitCode, stdout, stderr } = await verify(user.file('wallet.key'), ...onChain());

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('may be a private key; nothing was sent');
    expect(stderr).not.toContain(receipt.proof_hash);
  });

  it('exits with 5 if the hash is unknown, and with 7 if nothing answers', async () => {
    const unknown = await verify(`0x${'00'.repeat(32)}`, ...onChain());
    const silent = await verify(receipt.proof_hash, '--url', 'http://127.0.0.1:9');

    expect([unknown.exitCode, silent.exitCode]).toEqual([5, 7]);
    expect(unknown.stderr).toContain(
      `${service.url} has no proof with the hash 0x${'00'.repeat(32)}.\nThis shows no forgery`,
    );
  });

  it('exits with 8 while the anchor is in no block, and with 3 for other evidence', async () => {
    const proof = newEvidence();
    const { done, sent } = await handIn(proof);
    await waitFor('the transaction', sent);
    await writeFile(user.file('other.json'), '{}');

    const pending = await verify(hashProof(proof), ...onChain());
    const other = await verify(hashProof(proof), '--proof', user.file('other.json'));

    await service.rpc('evm_mine');
    await done;
    expect([pending.exitCode, pending.stderr]).toEqual([8, '']);
    expect(pending.stdout).toContain(
      'Pending.\nThe proof was submitted and is not in a block yet.\n',
    );
    expect(other.exitCode).toBe(3);
  });
});

describe('svc verify --watch', () => {
  it('exits with 8 when the time is over', async () => {
    const proof = newEvidence();
    await anchor(proof);

    const { exitCode, stdout } = await verify(hashProof(proof), '--watch', '--timeout', '1');

    expect(exitCode).toBe(8);
    expect(stdout).toMatch(/\nPending: \d+ confirmations?, included\.\n/);
  });
});

describe('svc verify FILE without a node', () => {
  it.each(['receipt.json', 'bundle.json'])('asks the service about %s', async (name) => {
    const { exitCode, stdout } = await verify(user.file(name));

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/✔ statement .*\n✔ sender .*\nThe service says: /);
    expect(stdout).toContain('--rpc-url');
  });

  it.each([
    [
      'a receipt that the service did not give',
      () => ({ ...receipt, block_number: '999' }),
      ['statement'],
    ],
    [
      'a bundle with another title',
      () => ({ ...bundle, claim: { ...bundle.claim, title: 'Rest' } }),
      ['payload'],
    ],
    ['a bundle with other evidence', () => ({ ...bundle, proof: {} }), ['evidence']],
  ])('refuses %s', async (_, make, failed) => {
    await writeFile(user.file('forged.json'), JSON.stringify(make()));

    const { exitCode, stdout } = await verify(user.file('forged.json'), '--json');

    expect(exitCode).toBe(3);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
    expect(checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual(
      failed,
    );
  });

  it('compares the expected sender with the statement of the service', async () => {
    const other = `0x${'12'.repeat(20)}`;

    const { exitCode, stdout } = await verify(user.file('receipt.json'), '--anchor-address', other);

    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/✘ sender /);
    expect(stdout).toMatch(
      /NOT verified\.\nThe anchor was sent by another account .*\nThe service says: Sent by 0x[0-9a-f]{40}\n/,
    );
  });
});

describe('svc verify FILE with a node', () => {
  it('is suggested if the service does not know the proof, as of a deleted task', async () => {
    const unknown = { ...receipt, proof_hash: `0x${'00'.repeat(32)}` };
    await writeFile(user.file('unknown.json'), JSON.stringify({ verification: unknown }));

    const { exitCode, stderr } = await verify(user.file('unknown.json'));

    expect([exitCode, stderr]).toEqual([5, expect.stringContaining('--rpc-url URL')]);
  });

  it('is suggested if no service is known', async () => {
    const stranger = await createSvcUser(service.url);

    const { exitCode, stderr } = await stranger.svc(['verify', user.file('bundle.json')]);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--rpc-url URL')]);
    await stranger.remove();
  });

  it('names the sender if it is not the pinned account', async () => {
    const pin = ['--anchor-address', `0x${'12'.repeat(20)}`];

    const { exitCode, stdout } = await verify(user.file('receipt.json'), ...pin, ...onChain());

    expect(exitCode).toBe(3);
    expect(stdout.toLowerCase()).toContain(`\nsent by ${bundle.anchor.from.toLowerCase()}\n`);
    expect(stdout).toContain(`Sent by ${bundle.anchor.from.toLowerCase()}, expected: ${pin[1]}\n`);
    expect(stdout).toContain(`\n  task      ${receipt.task_id} (stated, not proven)\n`);
  });

  it.each([
    ['a typing error in the address', ['--anchor-address', mistyped], 'are a checksum'],
    ['a node without http', ['--rpc-url', '127.0.0.1:8545'], 'Begin it with https://'],
  ])('does not report %s as a forgery', async (_what, [option = '', value = ''], message) => {
    const chain = option === '--rpc-url' ? [] : onChain();

    const { exitCode, stderr } = await verify(user.file('receipt.json'), ...chain, option, value);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it.each([
    ['a bundle', { chain_id: 1, proof_hash: '0x' }, 'is like a bundle'],
    ['a format that is no text', { format: { toString: 1 } }, 'hashes to'],
  ])('refuses %s in place of evidence, whatever it claims to be', async (_what, proof, detail) => {
    await writeFile(user.file('false.json'), JSON.stringify(proof));
    const given = ['--proof', user.file('false.json')];

    const { exitCode, stdout } = await verify(user.file('receipt.json'), ...onChain(), ...given);

    expect([exitCode, stdout]).toEqual([3, expect.stringContaining(detail)]);
    expect(stdout).toContain('NOT verified.');
  });

  it('names the remedy for a truncated file', async () => {
    const whole = await readFile(user.file('bundle.json'), 'utf8');
    await writeFile(user.file('cut.json'), whole.slice(0, 500));

    const { exitCode, stderr } = await verify(user.file('cut.json'), ...onChain());

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('may be incomplete')]);
  });

  it('reports a finality in a receipt that differs from the chain', async () => {
    const { stdout } = await verify(user.file('receipt.json'), '--json', ...onChain());
    const { finality } = JSON.parse(stdout);
    const another = finality === 'finalized' ? 'safe' : 'finalized';
    await writeFile(user.file('same.json'), JSON.stringify({ ...receipt, finality }));
    await writeFile(user.file('other.json'), JSON.stringify({ ...receipt, finality: another }));

    const same = await verify(user.file('same.json'), ...onChain());
    const other = await verify(user.file('other.json'), ...onChain());

    expect([same.exitCode, other.exitCode]).toEqual([0, 0]);
    expect(same.stdout).not.toContain('the finality in the receipt');
    expect(other.stdout).toContain(`Stated, not proven: the finality in the receipt, ${another}\n`);
  });

  it('uses the accounts of the service if the caller names none', async () => {
    const { exitCode, stdout } = await verify(user.file('bundle.json'), ...onChain());

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`, named by ${service.url}\n  evidence  matches\n`);
    expect(stdout).toContain('  title     ');
  });

  it('verifies nothing if the service cannot name its accounts', async () => {
    const nowhere = { env: { SVC_URL: 'http://127.0.0.1:9' } };
    const args = ['verify', user.file('bundle.json'), ...onChain()];

    const { exitCode, stderr } = await user.svc(args, nowhere);

    expect(exitCode).toBe(7);
    expect(stderr).toContain('No answer from http://127.0.0.1:9');
  });

  it('needs no service', async () => {
    const nowhere = { env: { SVC_URL: 'http://127.0.0.1:9' } };
    const pin = ['--anchor-address', bundle.anchor.from];
    const args = (name: string) => ['verify', user.file(name), ...pin, ...onChain()];

    const [asReceipt, asBundle] = [
      await user.svc(args('receipt.json'), nowhere),
      await user.svc(args('bundle.json'), nowhere),
    ];

    expect([asReceipt.exitCode, asBundle.exitCode]).toEqual([0, 0]);
  });

  it.each([
    ['as it is', 'http://127.0.0.1:9'],
    ['with a slash behind it', 'http://127.0.0.1:9/'],
    ['in capitals', 'HTTP://127.0.0.1:9'],
  ])('does not count one node twice, written %s', async (_, again) => {
    const nodes = ['--rpc-url', 'http://127.0.0.1:9', '--rpc-url', again];

    const { exitCode, stdout, stderr } = await verify(user.file('receipt.json'), ...nodes);

    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('would agree with itself');
  });
});
