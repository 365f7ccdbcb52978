import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

let service: TestService;
let proxy: ServiceProxy;
let owner: Owner;
let robot: TestRobot;
let agent: TestAgent;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
});

afterAll(() => service?.close());

beforeEach(async () => {
  proxy = await startServiceProxy(service.url);
  ({ owner, robot } = await service.signInWithRobot());
  agent = await createTestAgent({ url: proxy.url, apiKey: robot.apiKey });
});

afterEach(async () => {
  await agent.remove();
  await proxy.close();
});

const remoteTask = (id: string) =>
  service.call('GET', `/api/v1/tasks/${id}`, { apiKey: robot.apiKey });
const remoteSamples = async () =>
  (
    await service.call('GET', `/api/v1/robots/${robot.id}/telemetry?limit=200`, {
      session: owner.session,
    })
  ).body.items as { id: string; metrics: { n: number }; recorded_at: string }[];
const isDelivered = async () => {
  const { queues } = await agent.status();
  return Object.values<{ count: number }>(queues).every(({ count }) => count === 0);
};
const delivered = () => waitFor('the delivery', isDelivered, LONG);
const numbers = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => ({ metrics: { n: first + i } }));

describe('without the service', () => {
  it.each([
    ['503', 503, { error: 'storage_unavailable', message: 'Later.' }, {}],
    ['429 with Retry-After', 429, { error: 'rate_limited', message: 'Slow.', retry_after: 1 }, {}],
    ['a page of something else', 200, '<html>' as unknown as object, {}],
    ['a redirect', 302, {}, { location: 'http://127.0.0.1:9/' }],
  ])('keeps all through %s', async (_, status, body, headers) => {
    proxy.fail(status, body, headers);
    await agent.start();
    const id = await agent.claim();
    await agent.record(numbers(3));
    await waitFor('a refused call', () => proxy.seen.length > 0);
    proxy.mend();
    await delivered();

    expect((await remoteTask(id)).status).toBe(200);
    expect(await remoteSamples()).toHaveLength(3);
  });
});

describe('a record that the service refuses', () => {
  it('is set aside with its reason, and holds up no other', async () => {
    await agent.start();
    const ahead = new Date(Date.now() + 48 * 60 * 60_000).toISOString();
    const samples = numbers(50).map((sample, i) =>
      i === 17 ? { ...sample, recorded_at: ahead } : sample,
    );
    await agent.record(samples);
    await delivered();

    const stored = (await remoteSamples()).map(({ metrics }) => metrics.n);
    expect(stored.sort((a, b) => a - b)).toEqual([...Array(50).keys()].filter((n) => n !== 17));
    expect((await agent.status()).refused).toBe(1);
  });
});

describe('without credits', () => {
  it('keeps completions, delivers the rest, and says so', async () => {
    proxy.handle(async ({ path, pass, response }) => {
      if (!path.endsWith('/complete')) return pass();
      response.writeHead(402, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'no_anchor_quota', message: 'None left.' }));
    });
    await agent.start();
    const ids = [await agent.claim(), await agent.claim(), await agent.claim()];
    for (const id of ids) await agent.complete(id, newEvidence());
    await agent.record(numbers(3));
    await waitFor('the samples', async () => (await remoteSamples()).length === 3, LONG);
    await waitFor('the refusal', async () => (await agent.status()).completions_wait_for, LONG);

    expect(await agent.status()).toMatchObject({
      connected: true,
      completions_wait_for: 'no_anchor_quota',
      queues: { completions: { count: 3 } },
    });
    proxy.mend();
    await delivered();
  });
});
