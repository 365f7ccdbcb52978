import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Hex, keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
} from 'vitest';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { hashText, joinSignature } from '../../src/proof/statements/jws.ts';
import {
  type AnchorPromise,
  promiseText,
  readPromise,
} from '../../src/proof/statements/promise.ts';
import {
  type AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts, startTestChain, type TestChain } from '../support/anvil.ts';
import { startTestService } from '../support/service.ts';
import { edwards, nist, type Signer } from '../support/statement-vectors.ts';
import { createSvcUser, type SvcUser } from '../support/svc.ts';
import { waitFor } from '../support/wait-for.ts';

const HOUR = 3_600_000;
const [own, , stranger] = anvilAccounts.map(({ privateKey }) =>
  privateKeyToAccount(privateKey),
) as [
  ReturnType<typeof privateKeyToAccount>,
  ReturnType<typeof privateKeyToAccount>,
  ReturnType<typeof privateKeyToAccount>,
];
const [serviceKey, otherKey] = [edwards(4), edwards(5)];

let chain: TestChain;
let origin: Server;
let url: string;
let user: SvcUser;
let list: AnchorsList;
/** What the origin answers for a leaf. */
let leaves: Map<string, object>;
/** What it answers for other leaves. */
let refusal: [number, string];
const unanchored: typeof refusal = [404, 'leaf_not_anchored'];

beforeAll(async () => {
  origin = createServer((request, response) => {
    const leaf = /^\/api\/v1\/leaves\/(0x\w+)/.exec(request.url ?? '')?.[1];
    const found = leaf === undefined ? list : leaves.get(leaf);
    const [status, error] = refusal;
    response.statusCode = found === undefined ? status : 200;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(found ?? { error, message: 'No.' }));
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
});
afterAll(() => origin.close());
beforeEach(async () => {
  [leaves, refusal] = [new Map(), unanchored];
  chain = await startTestChain();
  user = await createSvcUser(url);
  list = await listWith({});
});
afterEach(async () => {
  await user.remove();
  await chain.close();
});

async function listWith(
  changes: Partial<ListedAccount>,
  key: Signer = serviceKey,
): Promise<AnchorsList> {
  const public_key = key.jwk as { kty: 'OKP'; crv: 'Ed25519'; x: string };
  const account = {
    ...{ chain_id: 31337, address: own.address, first_block: '0', last_block: null },
    ...{ promise_key: { kid: key.thumbprint, public_key }, ...changes },
  };
  const signature = await own.signMessage({ message: accountText(url, account) });
  const accounts = [{ ...account, signature }];
  const format = 'svc-anchors/1' as const;
  const unsigned = { format, origin: url, sequence: 1, accounts };
  const signed = await own.signMessage({ message: listText(unsigned) });
  return { ...unsigned, signatures: [{ address: own.address, signature: signed }] };
}

/** Saves the list of a service whose account was retired. */
async function trustRetired(last_block: string): Promise<void> {
  await user.svc(['trust', 'add', url, '--yes']);
  const services = { [url]: await listWith({ last_block }) };
  await writeFile(user.file('config/trusted-services.json'), JSON.stringify({ services }));
}

/** Work with this number. It is anchored in the next block unless `sender` is null. */
async function work(n: number, { sender = own as typeof own | null, alone = false } = {}) {
  const id = `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`;
  const claim = {
    ...{ title: `Sort ${n}`, description: null, expected_result: null, occurred_at: null },
    created_at: '2026-11-29T00:00:00.000Z',
  };
  const content = {
    ...{ task_id: id, robot_id: id, claim_hash: hashClaim(claim) },
    proof_hash: hashProof({ picked: n }),
  };
  const leaf = leafHash(content);
  const promised = { task_id: id, created_at: claim.created_at, leaf };
  if (sender === null) return { promised, bundle: {}, time: 0 };
  const other = { proof_hash: hashText('p'), leaf: hashText('other') };
  const { payload, inclusions } = commitLeaves([
    { proof_hash: content.proof_hash, leaf },
    ...(alone ? [] : [other]),
  ]);
  const raw_tx = await sender.signTransaction({
    ...{ type: 'eip1559', chainId: 31337, to: sender.address, value: 0n, gas: 100_000n },
    ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, data: encodePayload(payload) },
    nonce: Number(await chain.rpc('eth_getTransactionCount', [sender.address, 'latest'])),
  });
  await chain.rpc('eth_sendRawTransaction', [raw_tx]);
  await chain.mine();
  const block = await headOf();
  const anchored = {
    inclusion: inclusions[0] ?? null,
    anchor: {
      ...{ tx_hash: keccak256(raw_tx), raw_tx, tx_index: 0, from: sender.address.toLowerCase() },
      ...{ block_number: String(Number(block.number)), block_hash: block.hash },
      anchored_at: new Date(block.time).toISOString(),
    },
  };
  leaves.set(leaf, { chain_id: 31337, leaf, ...anchored });
  const { proof_hash } = content;
  const task = { id, robot_id: id, robot_name: 'arm' };
  const bundle = { format: 'svc-bundle/1', chain_id: 31337, task, claim, proof_hash, ...anchored };
  return { promised, bundle, time: block.time };
}

async function headOf(tag = 'latest') {
  type Block = Record<'number' | 'hash' | 'timestamp', Hex>;
  const block = await chain.rpc<Block>('eth_getBlockByNumber', [tag, false]);
  return { ...block, time: Number(block.timestamp) * 1000 };
}

/** A promise for these leaves, `hours` after the first block. That block is final, and no later one. */
async function promiseOf(
  promised: AnchorPromise['leaves'],
  hours: number,
  key: Signer = serviceKey,
  changes: Partial<AnchorPromise> = {},
): Promise<string> {
  const { time } = await headOf('0x0');
  const promise = {
    ...{ origin: url, chain_id: 31337, accepted_at: new Date(time - 48 * HOUR).toISOString() },
    anchored_by: new Date(time + hours * HOUR).toISOString(),
    ...{ leaves: promised, ...changes },
  };
  const head = { alg: key.alg as 'Ed25519', kid: key.thumbprint };
  const signed = promiseText(head, promise);
  return joinSignature(signed, key.sign(signed));
}

async function verify(content: unknown, ...args: string[]) {
  const file = user.file('promise.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  const { exitCode, stdout, stderr } = await user.svc(['verify', file, '--url', url, ...args]);
  return { exitCode, stdout, stderr };
}

async function onChain(content: unknown, ...args: string[]) {
  const { exitCode, stdout, stderr } = await verify(
    content,
    ...['--rpc-url', chain.url, '--json', ...args],
  );
  if (stderr !== '') throw new Error(stderr);
  const { outcome, leaves: found, ...report } = JSON.parse(stdout);
  return { exitCode, outcome, each: found.map((one: { outcome: string }) => one.outcome), report };
}

/** Saves a bundle and returns the option that names it. */
async function given(bundle: object): Promise<string[]> {
  await writeFile(user.file('bundle.json'), JSON.stringify(bundle));
  return ['--bundle', user.file('bundle.json')];
}

describe('svc verify of a promise', () => {
  it.each([['in a batch', false] as const, ['alone', true] as const])(
    'is kept by an anchor %s before the deadline',
    async (_, alone) => {
      const { promised } = await work(1, { alone });

      const found = await onChain(await promiseOf([promised], 24));

      expect(found).toMatchObject({ exitCode: 0, outcome: 'kept', each: ['kept'] });
    },
  );

  it('is kept late by an anchor after the deadline', async () => {
    const { promised } = await work(1);

    const found = await onChain(await promiseOf([promised], -1));

    expect(found).toMatchObject({ exitCode: 14, outcome: 'kept_late' });
  });

  it('is open while no block after the deadline is final', async () => {
    const { promised } = await work(1, { sender: null });
    const jws = await promiseOf([promised], 1);
    await chain.rpc('evm_increaseTime', [7200]);
    await chain.mine();

    const early = await onChain(jws);
    await chain.rpc('anvil_mine', ['0x80']);
    const past = await onChain(jws);

    expect(early).toMatchObject({ exitCode: 8, outcome: 'open' });
    expect(past).toMatchObject({ exitCode: 14, outcome: 'broken' });
  });

  it('is as bad as its worst result', async () => {
    const missing = await work(1, { sender: null });
    const late = await work(2);

    const found = await onChain(await promiseOf([late.promised, missing.promised], -1));

    expect(found).toMatchObject({ outcome: 'broken', each: ['kept_late', 'broken'] });
  });

  it('says what the service signed when it is broken', async () => {
    const { promised } = await work(1, { sender: null });

    const { stdout } = await verify(await promiseOf([promised], -1), '--rpc-url', chain.url);

    expect(stdout).toMatch(/^BROKEN\.\n/);
    expect(stdout).toContain(`${url} signed that it would anchor 1 result on chain 31337 by `);
  });

  it.each([
    ['is down', 500, 'internal_error'],
    ['is too old for the question', 404, 'not_found'],
  ])('convicts no service that %s', async (_, status, code) => {
    const { promised } = await work(1, { sender: null });
    refusal = [status, code];

    const jws = await promiseOf([promised], -1);
    const found = await onChain(jws);
    const { stdout } = await verify(jws, '--rpc-url', chain.url);

    expect(found).toMatchObject({ exitCode: 7, outcome: 'not_shown' });
    expect(stdout).toContain('Silence does not show that the promise was broken.');
  });

  it('is kept by a given bundle when the service does not answer', async () => {
    const { promised, bundle } = await work(1);
    refusal = [500, 'internal_error'];

    const found = await onChain(await promiseOf([promised], 24), ...(await given(bundle)));

    expect(found).toMatchObject({ exitCode: 0, outcome: 'kept' });
  });

  it('is kept by a transaction that a reorganization moved', async () => {
    const { promised, bundle } = await work(1);
    const anchor = (bundle as { anchor: object }).anchor;
    const moved = { ...anchor, block_hash: hashText('other'), block_number: '7' };

    const found = await onChain(
      await promiseOf([promised], 24),
      ...(await given({ ...bundle, anchor: moved })),
    );

    expect(found).toMatchObject({ exitCode: 0, outcome: 'kept' });
  });

  it('is not kept by an anchor that the service only states', async () => {
    const { promised } = await work(1);
    await chain.rpc('anvil_reset');

    const found = await onChain(await promiseOf([promised], -1));

    expect(found).toMatchObject({ exitCode: 14, outcome: 'broken' });
    expect(found.report.notes).toContain(`The anchor that ${url} states does not hold.`);
  });

  it('is not decided by nodes that do not agree', async () => {
    const { promised } = await work(1);
    const other = await startTestChain();
    onTestFinished(() => other.close());

    const jws = await promiseOf([promised], -1);
    const found = await verify(jws, '--rpc-url', chain.url, '--rpc-url', other.url);

    expect([found.exitCode, found.stderr]).toEqual([7, expect.stringContaining('do not agree')]);
  });

  it('is not shown only for the results about which the service is silent', async () => {
    const [one, other] = [await work(1, { sender: null }), await work(2, { sender: null })];
    leaves.set(one.promised.leaf, { leaf: 'unreadable' });

    const found = await onChain(await promiseOf([one.promised, other.promised], -1));

    expect(found).toMatchObject({ outcome: 'broken', each: ['not_shown', 'broken'] });
  });

  it('is not decided by the anchor of an account that the list does not have', async () => {
    const { promised } = await work(1, { sender: stranger });

    const found = await onChain(await promiseOf([promised], -1));

    expect(found).toMatchObject({ exitCode: 9, outcome: 'unnamed' });
  });

  it('is not decided by an anchor after the last block of its account', async () => {
    await chain.mine();
    const { promised } = await work(1);
    await trustRetired('1');

    const found = await onChain(await promiseOf([promised], -1));

    expect(found).toMatchObject({ outcome: 'unnamed', report: { key_retired: true } });
  });

  it('says that its key is retired', async () => {
    const { promised } = await work(1);
    await trustRetired('9');

    const { exitCode, stdout } = await verify(
      await promiseOf([promised], 24),
      ...['--rpc-url', chain.url],
    );

    expect(exitCode).toBe(0);
    expect(stdout).toContain('The key of this promise is retired.');
  });

  it.each([
    ['a key that the list does not have', otherKey, {}, 'does not have the key'],
    ['another chain', serviceKey, { chain_id: 1 }, 'does not have the key'],
  ])('is refused with %s', async (_, key, changes, reason) => {
    const { promised } = await work(1);

    const jws = await promiseOf([promised], 24, key, changes);
    const { exitCode, stdout } = await verify(jws, '--rpc-url', chain.url);

    expect([exitCode, stdout]).toEqual([3, expect.stringContaining(reason)]);
  });

  it('is refused with a wrong signature', async () => {
    const { promised } = await work(1);
    const jws = await promiseOf([promised], 24);
    const other = await promiseOf([promised], 25);
    const forged = `${jws.split('.').slice(0, 2).join('.')}.${other.split('.')[2]}`;

    const { exitCode, stdout } = await verify(forged, '--rpc-url', chain.url);

    expect([exitCode, stdout]).toEqual([3, expect.stringContaining('did not sign this promise')]);
  });

  it('is checked with a key of P-256', async () => {
    const { promised } = await work(1);
    list = await listWith({}, nist(3));

    const found = await onChain(await promiseOf([promised], 24, nist(3)));

    expect(found).toMatchObject({ exitCode: 0, outcome: 'kept' });
  });

  it('is not checked with the list of a service that the caller did not name', async () => {
    const { promised } = await work(1);
    const jws = await promiseOf([promised], 24, serviceKey, { origin: 'https://svc.example.org' });

    const found = await onChain(jws);

    expect(found).toMatchObject({ exitCode: 9, outcome: 'unnamed', each: [] });
  });

  it('is read in each form in which it is saved', async () => {
    const { promised } = await work(1);
    const promise = await promiseOf([promised], 24);
    const answer = { status: 'pending', error: 'anchor_queued', message: 'Wait.', promise };

    const batch = { items: [{ status: 202, body: {} }], promise };
    const line = { kind: 'completion', id: promised.task_id, body: {}, promise };
    const objects = [{ promise }, answer, batch, line];
    const forms = [promise, `${promise}\n`, JSON.stringify(promise), ...objects];
    const found = [];
    for (const form of forms) found.push((await onChain(form)).outcome);

    expect(found).toEqual(forms.map(() => 'kept'));
  });

  it('is missing in the answer about one item of a batch', async () => {
    const answer = { status: 'pending', error: 'anchor_queued', proof_hash: hashText('p') };

    const { exitCode, stderr } = await verify(answer);

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('this answer has no promise')]);
  });

  it.each([
    ['--anchor-address', own.address],
    ['--robot-key', serviceKey.thumbprint],
    ['--block-hash', `0x${'1'.repeat(64)}`],
  ])('refuses %s, which does not apply', async (option, value) => {
    const { promised } = await work(1);

    const { exitCode, stderr } = await verify(await promiseOf([promised], 24), option, value);

    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining(`${option} does not apply to a promise.`),
    ]);
  });

  it('is kept by a real service, whose robot was deleted', async () => {
    const service = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 0 } });
    onTestFinished(service.close);
    const { owner, robot } = await service.signInWithRobot();
    await service.rpc('evm_setAutomine', [false]);
    const { status, body } = await service.complete(robot, await service.claim(robot));
    const { session } = owner;
    await service.call('DELETE', `/api/v1/robots/${robot.id}`, { session });
    await service.rpc('evm_setAutomine', [true]);
    const { leaf, task_id } = readPromise(body.promise).promise.leaves[0] ?? {};
    await waitFor('the anchor', async () => {
      await service.rpc('evm_mine');
      const reply = await service.call('GET', `/api/v1/leaves/${leaf}?task_id=${task_id}`);
      return reply.status === 200;
    });
    await writeFile(user.file('answer.json'), JSON.stringify(body));

    const found = await user.svc(
      ['verify', user.file('answer.json'), '--rpc-url', service.rpcUrl, '--url', service.url],
      { env: { SVC_URL: '' } },
    );

    expect([status, found.exitCode, found.stderr]).toEqual([202, 0, '']);
    expect(found.stdout).toMatch(/^Kept\.\n/);
  });

  it('is evidence, and no promise, in an object with other members', async () => {
    const { promised } = await work(1);
    const evidence = { promise: await promiseOf([promised], 24), picked: 1 };

    expect((await verify(evidence)).stderr).toContain('/api/v1/verify/');
  });

  it('reports only what the service states without a node', async () => {
    const kept = await work(1);
    const missing = await work(2, { sender: null });

    const stated = await verify(await promiseOf([kept.promised], 24));
    const open = await verify(await promiseOf([missing.promised], -1));

    expect([stated.exitCode, open.exitCode]).toEqual([0, 8]);
    for (const { stdout } of [stated, open]) {
      expect(stdout).toMatch(/^Stated: /);
      expect(stdout).toContain('Not checked against the chain.');
    }
  });

  it('says when the node is on another chain', async () => {
    const { promised } = await work(1);
    list = await listWith({ chain_id: 1 });

    const { exitCode, stderr } = await verify(
      await promiseOf([promised], 24, serviceKey, { chain_id: 1 }),
      ...['--rpc-url', chain.url],
    );

    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('on chain 31337, not 1')]);
  });
});
