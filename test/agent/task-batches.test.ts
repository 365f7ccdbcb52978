import { writeFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { limits } from '../../src/protocol/limits.ts';
import { grant, newEvidence, type TestService } from '../support/service.ts';
import type { Passing } from '../support/service-proxy.ts';
import { setUpUploads } from '../support/uploads.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;
const BATCH = '/api/v1/tasks/batch';

const scene = setUpUploads();

/** Changes settings of the service for this test. */
function withSettings(changes: Partial<TestService['settings']>): void {
  const before = { ...scene.service.settings };
  Object.assign(scene.service.settings, changes);
  onTestFinished(() => void Object.assign(scene.service.settings, before));
}

/** The agent accepts work while the service cannot be reached. */
async function workOffline(count: number, evidence: () => object = newEvidence): Promise<string[]> {
  scene.proxy.cut();
  await scene.agent.start();
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const id = await scene.agent.claim();
    await scene.agent.complete(id, evidence());
    ids.push(id);
  }
  scene.proxy.seen.length = 0;
  return ids;
}

const aboutTasks = () => scene.proxy.seen.filter(({ path }) => path.startsWith('/api/v1/tasks'));
const batches = (): { items: { id: string }[] }[] =>
  scene.proxy.seenAt(BATCH).map(({ body }) => JSON.parse(body));

async function expectReceipts(ids: readonly string[]): Promise<void> {
  const { items } = (await scene.agent.call('GET', '/api/v1/receipts')).body;
  expect(items.map((one: { task_id: string }) => one.task_id).sort()).toEqual([...ids].sort());
}

function reply({ response }: Passing, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

it('sends claim and completion of 50 tasks in one call, which returns their receipts', async () => {
  const ids = await workOffline(limits.batchItems + 10);
  scene.proxy.restore();
  await scene.delivered();

  expect(batches().map(({ items }) => items.length)).toEqual([limits.batchItems, 10]);
  expect(aboutTasks()).toHaveLength(2);
  await expectReceipts(ids);
});

it('fills a batch up to a quarter of the largest body', async () => {
  const evidence = () => ({ ...newEvidence(), log: 'x'.repeat(150_000) });
  const ids = await workOffline(7, evidence);
  scene.proxy.restore();
  await scene.delivered();

  const counts = batches().map(({ items }) => items.length);
  expect(counts.sort()).toEqual([1, 3, 3]);
  await expectReceipts(ids);
});

it('asks for the receipts of many tasks in one call', async () => {
  withSettings({ anchorTimeoutMs: 0 });
  const ids = await workOffline(20);
  scene.proxy.restore();
  await scene.delivered();

  const [first, ...polls] = batches();
  expect(first?.items).toHaveLength(20);
  expect(polls[0]?.items.length).toBeGreaterThan(1);
  expect(aboutTasks().length).toBeLessThan(20);
  await expectReceipts(ids);
});

it.each([404, 405])(
  'sends single calls to a service that answers %i to a batch',
  async (status) => {
    const ids = await workOffline(3);
    scene.proxy.handle(async (passing) => {
      if (passing.path !== BATCH) return passing.pass();
      reply(passing, status, { error: 'not_found', message: 'This endpoint does not exist.' });
    });
    await scene.delivered();

    expect(scene.proxy.seenAt(BATCH)).toHaveLength(1);
    expect(aboutTasks()).toHaveLength(1 + 2 * ids.length);
    expect((await scene.agent.status()).last_error?.code).not.toBe('unexpected_answer');
    await expectReceipts(ids);
  },
);

it('sends all again if the answer was lost, and nothing is stored twice', async () => {
  const ids = await workOffline(3);
  let isLost = false;
  scene.proxy.handle(async ({ path, forward, pass, response }) => {
    if (path !== BATCH || isLost) return pass();
    isLost = true;
    await forward();
    response.destroy();
  });
  await scene.delivered();

  const [first, second] = batches();
  expect(second).toEqual(first);
  await expectReceipts(ids);
  const { items } = (
    await scene.service.call('GET', '/api/v1/credits/ledger', { session: scene.owner.session })
  ).body;
  expect(items.filter(({ kind }: { kind: string }) => kind === 'reserve')).toHaveLength(3);
});

it('sets aside only the item that the service refuses', async () => {
  const other = await scene.service.makeRobot(scene.owner, 'arm-2');
  const taken = await scene.service.claim(other);
  const ids = await workOffline(3);
  await scene.agent.call('POST', '/api/v1/tasks', { body: { id: taken, title: 'Mine' } });
  await scene.agent.complete(taken, newEvidence());
  scene.proxy.restore();
  await scene.delivered();

  // The claim and its completion.
  expect((await scene.agent.status()).refused).toBe(2);
  await expectReceipts(ids);
});

it('delivers the others if a task makes the service fail each time', async () => {
  const ids = await workOffline(12);
  await scene.agent.complete(await scene.agent.claim({ title: 'poison' }), newEvidence());
  scene.proxy.handle(async (passing) => {
    if (!passing.body.includes('poison')) return passing.pass();
    reply(passing, 500, { error: 'internal_error', message: 'Oh.' });
  });
  const left = async () => (await scene.agent.status()).queues.completions.count;
  await waitFor('the others', async () => (await left()) === 1, LONG);

  await expectReceipts(ids);
  scene.proxy.restore();
  await scene.delivered();
});

it('pauses completions for which there are no credits, and delivers their claims', async () => {
  withSettings({ signup: { ...scene.service.settings.signup, anchors: 1 } });
  const owner = await scene.service.signIn();
  scene.robot = await scene.service.makeRobot(owner);
  await writeFile(scene.agent.keyFile, scene.robot.apiKey);
  const ids = await workOffline(3);
  scene.proxy.restore();
  await waitFor('the pause', async () => (await scene.agent.status()).completions_wait_for, LONG);

  expect(await scene.agent.status()).toMatchObject({
    connected: true,
    completions_wait_for: 'no_anchor_quota',
    queues: { claims: { count: 0 } },
  });
  await grant(scene.service.store, owner.wallet, 10, 10n ** 20n);
  await scene.delivered();
  await expectReceipts(ids);
});

it.each([
  ['another proof', (item: Item) => Object.assign(item.body.verification, { proof_hash: ZERO })],
  ['another task', (item: Item) => Object.assign(item.body.task ?? {}, { id: OTHER })],
  ['an undocumented status', (item: Item) => Object.assign(item, { status: 299 })],
  ['no receipt', (item: Item) => Reflect.deleteProperty(item.body, 'verification')],
])('is not settled by an item with %s', async (_, alter) => {
  const [id = ''] = await workOffline(2);
  let isAltered = false;
  scene.proxy.handle(async (passing) => {
    if (passing.path !== BATCH || isAltered) return passing.pass();
    isAltered = true;
    const { status, body } = await passing.forward();
    const answer: { items: Item[] } = JSON.parse(body);
    for (const item of answer.items) if (item.body.task?.id === id) alter(item);
    reply(passing, status, answer);
  });
  await waitFor('the altered answer', () => isAltered, LONG);
  await scene.delivered();

  expect(aboutTasks().length).toBeGreaterThan(1);
  const { verification } = (await scene.remoteTask(id)).body;
  const { items } = (await scene.agent.call('GET', '/api/v1/receipts')).body;
  expect(items).toContainEqual(verification);
});

interface Item {
  status: number;
  body: { task?: { id: string }; verification: { proof_hash: string } };
}

const ZERO = hashProof({});
const OTHER = '01900000-0000-7000-8000-00000000000a';
