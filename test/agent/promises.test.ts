import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hashProof, hashText } from '../../src/proof/index.ts';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import { createAgentClock } from '../support/agent-clock.ts';
import { runInProcess } from '../support/run-in-process.ts';
import { isoIn, type SigningService, startSigningService } from '../support/signing-service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const proof = { picked: 12 };

let service: SigningService;
let agent: TestAgent;

beforeEach(async () => {
  service = await startSigningService();
  service.isAnchoring = false;
  service.promising = {};
  // Whether the clock of this machine is synchronized must not matter.
  const clock = { ...createAgentClock(), now: createAgentClock(Date.now()).now };
  agent = await createTestAgent({ url: service.url, apiKey: `svc_${'0'.repeat(40)}`, clock });
});
afterEach(async () => {
  await agent.remove();
  await service.close();
});

const svcAgent = async (...args: string[]) =>
  (await runInProcess('svc-agent', args, { env: agent.environment })).stdout;
const promises = async () => (await agent.status()).promises;
const sent = (path: string) => service.bodies.filter((one) => one.path === path);
const events = () => sent('/api/v1/events').map(({ body }) => body);
const delivered = () =>
  waitFor('the delivery', async () => (await agent.status()).queues.completions.count === 0, LONG);
const kept = () => waitFor('the promise', async () => (await promises()).kept === 1, LONG);
const problem = () => waitFor('the problem', async () => (await promises()).problems[0], LONG);
const reported = () => waitFor('the event', () => events()[0], LONG);

/** The completion of a task that the running agent has claimed. */
async function complete(): Promise<string> {
  const id = await agent.claim({ title: 'Pick', expected_result: { picked: 12 } });
  await agent.complete(id, proof);
  return id;
}

it('keeps a promise until the receipt', async () => {
  await agent.start();
  await complete();
  await kept();
  const exported = await svcAgent('spool', 'export');
  const shown = await svcAgent('status');
  service.isAnchoring = true;
  await delivered();

  expect(JSON.parse(exported)).toMatchObject({ promise: expect.stringMatching(/^ey/) });
  expect(shown).toMatch(/^promises +1 wait for their receipts$/m);
  expect(await promises()).toEqual({ kept: 0, problems: [] });
  expect(events()).toEqual([]);
});

it.each([
  ['origin', { origin: 'https://other.example.org' }, 'another origin'],
  ['leaf', { leaf: `0x${'ab'.repeat(32)}` }, 'other evidence'],
  ['signature', { key: generateKeyPairSync('ed25519').privateKey }, 'a wrong signature'],
])('reports a promise with a wrong %s, and does not keep it', async (_, changes, message) => {
  service.promising = changes;
  await agent.start();
  const id = await complete();
  const found = await problem();
  const event = await reported();

  const expected = expect.stringContaining(message);
  expect(found).toEqual({ task_id: id, code: 'promise_refused', message: expected });
  expect(event).toMatchObject({ event_type: 'promise_refused', severity: 'error' });
  expect(await svcAgent('status')).toContain(message);
  expect((await promises()).kept).toBe(0);
});

it('delivers while the keys of promises cannot be read', async () => {
  service.list = 'silent';
  await agent.start();
  await complete();
  await waitFor('the look', () => sent('/.well-known/svc-anchors.json').length > 0, LONG);
  const before = await promises();
  service.isAnchoring = true;
  await delivered();
  service.list = 'keys';

  expect(before).toEqual({ kept: 0, problems: [] });
});

it('reports a promise by a key that the service does not list', async () => {
  service.list = 'no keys';
  await agent.start();
  await complete();

  expect(await problem()).toMatchObject({
    code: 'promise_refused',
    message: expect.stringContaining('is signed by a key that the service does not list'),
  });
});

it('keeps a promise that it could not check before a restart', async () => {
  service.list = 'missing';
  await agent.start();
  await complete();
  await waitFor('the look', () => sent('/.well-known/svc-anchors.json').length > 0, LONG);
  await agent.stop();
  service.list = 'keys';
  await agent.start();

  await kept();
});

it('reports an overdue promise once', async () => {
  service.promising = { accepted_at: isoIn(-2 * HOUR), anchored_by: isoIn(-HOUR) };
  await agent.start();
  const id = await complete();
  const found = await problem();
  await reported();
  await agent.stop();
  await agent.start();
  const polls = () => sent(`/api/v1/tasks/${id}`).length;
  const before = polls();
  await waitFor('a poll', () => polls() > before, LONG);

  expect(found).toMatchObject({ task_id: id, code: 'promise_overdue' });
  expect(events()).toMatchObject([{ event_type: 'promise_overdue', payload: { task_id: id } }]);
  expect(await promises()).toMatchObject({ kept: 1 });
});

it('reports a promise for a later time than in 24 hours, and keeps it', async () => {
  service.promising = { anchored_by: isoIn(25 * HOUR) };
  await agent.start();
  await complete();

  expect(await problem()).toMatchObject({ code: 'promise_times' });
  expect(await reported()).toMatchObject({ event_type: 'promise_times', severity: 'warn' });
  expect((await promises()).kept).toBe(1);
});

it('reports a promise whose time is not that of a synchronized clock', async () => {
  await agent.remove();
  const clock = createAgentClock(Date.now() + 10 * MINUTE);
  clock.synchronize();
  agent = await createTestAgent({ url: service.url, apiKey: `svc_${'0'.repeat(40)}`, clock });
  await agent.start();
  await complete();

  expect((await problem()).message).toContain("this machine's clock said");
});

it('claims a task that the service has lost with the promise of its work', async () => {
  await svcAgent('identity', 'create');
  service.grant();
  await agent.start();
  await waitFor('the key', async () => (await agent.status()).signing.state === 'active', LONG);
  const id = await complete();
  await kept();
  const statement = String(service.statements().at(-1)?.text);
  service.forget();
  service.isAnchoring = true;
  await delivered();

  const [first, second] = sent('/api/v1/tasks').map(({ body }) => body);
  const promised = {
    promise: expect.stringMatching(/^ey/),
    proof_hash: hashProof(proof),
    statement_hash: hashText(statement),
  };
  expect(first?.promised).toBeUndefined();
  expect(second).toEqual({ ...first, promised });
  expect(service.statements().map(({ text }) => text)).toContain(statement);
  expect((await agent.call('GET', '/api/v1/receipts')).body.items).toMatchObject([{ task_id: id }]);
});

it('accepts no promise from programs on the robot', async () => {
  await agent.start();
  const promised = { promise: 'ey.ey.ey', proof_hash: hashProof(proof), statement_hash: null };
  const { status } = await agent.call('POST', '/api/v1/tasks', {
    body: { title: 'Pick', promised },
  });

  expect(status).toBe(400);
});
