import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { promiseKeyOf } from '../../src/chain/keys/promise-key.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { type AnchorPromise, readPromise } from '../../src/proof/statements/promise.ts';
import { openKey } from '../../src/proof/statements/public-key.ts';
import type { AnchorsList } from '../../src/protocol/anchoring-accounts.ts';
import { anvilAccounts } from '../support/anvil.ts';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const HOUR_MS = 3_600_000;
const proof = { parcels: 12 };

let service: TestService;
let owner: Owner;
let robot: TestRobot;
beforeAll(async () => {
  service = await startTestService({ chain: 'manual', settings: { anchorTimeoutMs: 0 } });
  await waitFor('the account', async () => (await accounts()).length > 0);
});
beforeEach(async () => {
  owner = await service.signIn();
  robot = await service.makeRobot(owner);
});
afterAll(() => service.close());

async function accounts() {
  const { body } = await service.call('GET', '/.well-known/svc-anchors.json');
  return (body as AnchorsList).accounts;
}

async function getTask(id: string) {
  return (await service.call('GET', `/api/v1/tasks/${id}`, { session: owner.session })).body;
}

it('promises the anchor of a result that is answered before it, by the key of the list', async () => {
  const id = await service.claim(robot);

  const { status, body } = await service.complete(robot, id, proof);

  const { promise, header, signed, signature } = readPromise(body.promise);
  const [account] = await accounts();
  const key = account?.promise_key;
  if (key === undefined) throw new Error('The list has no key');
  expect([status, header.kid]).toEqual([202, key.kid]);
  expect(await (await openKey(key.public_key))(signed, signature)).toBe(true);
  const { created_at } = (await getTask(id)).task;
  const claim_hash = hashClaim({ title: 'Sort the parcels', created_at });
  const proof_hash = hashProof(proof);
  const leaf = leafHash({ proof_hash, task_id: id, robot_id: robot.id, claim_hash });
  expect(promise).toMatchObject({ origin: service.url, chain_id: 31337 });
  expect(promise.leaves).toEqual([{ task_id: id, created_at, leaf }]);
  const hours = (Date.parse(promise.anchored_by) - Date.parse(promise.accepted_at)) / HOUR_MS;
  expect(hours).toBe(24);
});

it('keeps the promise if the robot is deleted before the transaction', async () => {
  const busy = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 0 } });
  onTestFinished(busy.close);
  const { owner: other, robot: arm } = await busy.signInWithRobot();
  const id = await busy.claim(arm);
  await busy.rpc('evm_setAutomine', [false]);
  const { body } = await busy.complete(arm, id, proof);
  await busy.call('DELETE', `/api/v1/robots/${arm.id}`, { session: other.session });
  await busy.rpc('evm_setAutomine', [true]);

  const { leaves } = readPromise(body.promise).promise;

  const leaf = leaves[0]?.leaf.slice(2) ?? '';
  await waitFor('the leaf on the chain', async () => {
    await busy.rpc('evm_mine');
    return JSON.stringify(await transactions(busy)).includes(leaf);
  });
});

async function transactions({ rpc }: Pick<TestService, 'rpc'>) {
  const head = Number(await rpc('eth_blockNumber'));
  const numbers = Array.from({ length: head + 1 }, (_, i) => `0x${i.toString(16)}`);
  return Promise.all(numbers.map((block) => rpc('eth_getBlockByNumber', [block, true])));
}

it('lists a task whose promise is not kept in time as overdue, until it is anchored', async () => {
  service.settings.promiseMs = -1;
  onTestFinished(() => {
    service.settings.promiseMs = 24 * HOUR_MS;
  });
  const id = await service.claim(robot);
  await service.claim(robot);
  await service.complete(robot, id, proof);
  const overdue = async () => {
    const { session } = owner;
    const { body } = await service.call('GET', '/api/v1/tasks?state=overdue', { session });
    return body.items.map((task: { id: string }) => task.id);
  };

  const before = await overdue();
  await waitFor('the receipt', async () => {
    await service.rpc('evm_mine');
    return (await getTask(id)).verification;
  });

  expect([before, await overdue()]).toEqual([[id], []]);
});

// What a restored service no longer knows: a claim of an hour ago, which it promised to anchor.
const createdAt = new Date(Date.now() - HOUR_MS).toISOString();
function lost(
  title: string,
  by: (typeof anvilAccounts)[number] = anvilAccounts[0],
  changes: Partial<AnchorPromise> = {},
) {
  const id = randomUUID();
  const proof_hash = hashProof(proof);
  const claim_hash = hashClaim({ title, created_at: createdAt });
  const leaf = leafHash({ proof_hash, task_id: id, robot_id: robot.id, claim_hash });
  const promise: AnchorPromise = {
    ...{ origin: service.url, chain_id: 31337, accepted_at: createdAt, anchored_by: createdAt },
    leaves: [{ task_id: id, created_at: createdAt, leaf }],
    ...changes,
  };
  const text = promiseKeyOf(by.privateKey).signPromise(promise);
  return { id, promised: { promise: text, proof_hash, statement_hash: null } };
}
const claimAgain = async (body: object) =>
  (await service.call('POST', '/api/v1/tasks', { apiKey: robot.apiKey, body })).body.task;

it('gives a claim that is sent again with its promise the time of before', async () => {
  const task = await claimAgain({ ...lost('Sort'), title: 'Sort' });

  expect(task.created_at).toBe(createdAt);
});

it.each([
  ['of other work', () => ({ ...lost('Sort'), title: 'Sweep' })],
  ['by another key', () => ({ ...lost('Sort', anvilAccounts[1]), title: 'Sort' })],
  [
    'of another service',
    () => ({
      ...lost('Sort', anvilAccounts[0], { origin: 'https://staging.example.org' }),
      title: 'Sort',
    }),
  ],
  [
    'for another chain',
    () => ({ ...lost('Sort', anvilAccounts[0], { chain_id: 5 }), title: 'Sort' }),
  ],
  ['of another task', () => ({ ...lost('Sort'), id: randomUUID(), title: 'Sort' })],
  [
    'that is none',
    () => {
      const { id, promised } = lost('Sort');
      return { id, promised: { ...promised, promise: 'a.b.c' }, title: 'Sort' };
    },
  ],
])('gives a claim with a promise %s the time of now', async (_of, body) => {
  const task = await claimAgain(body());

  expect(Date.parse(task.created_at)).toBeGreaterThan(Date.parse(createdAt));
});
