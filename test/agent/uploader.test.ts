import { randomUUID } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { createTestAgent, type TestAgent } from '../support/agent.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../support/service-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

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
const remoteEvents = async () =>
  (await service.call('GET', '/api/v1/events', { session: owner.session })).body.items as {
    event_type: string;
    occurred_at: string;
  }[];
const isDelivered = async () => {
  const { queues } = await agent.status();
  return Object.values<{ count: number }>(queues).every(({ count }) => count === 0);
};
const delivered = () => waitFor('the delivery', isDelivered, LONG);
const state = (wanted: string) =>
  waitFor(`state ${wanted}`, async () => (await agent.status()).state === wanted, LONG);
const numbers = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => ({ metrics: { n: first + i } }));

describe('with the service there', () => {
  it('anchors a proof and answers the receipt to who waits for it', async () => {
    await agent.start();
    const proof = newEvidence();
    const id = await agent.claim({ title: 'Pick', expected_result: { parcels: 12 } });

    const { status, body } = await agent.complete(id, proof, { prefer: 'wait=60' });

    expect([status, body.verification?.proof_hash]).toEqual([200, hashProof(proof)]);
    expect((await remoteTask(id)).body.verification).toEqual(body.verification);
    const again = await agent.complete(id, proof);
    expect([again.status, again.body.verification]).toEqual([409, body.verification]);
  });

  it('delivers samples and events, and says when they happened', async () => {
    await agent.start();
    const { body } = await agent.record(numbers(50));
    await agent.call('POST', '/api/v1/events', { body: { event_type: 'info', message: 'Up' } });
    await delivered();

    const stored = await remoteSamples();
    expect(new Map(stored.map(({ id, recorded_at }) => [id, recorded_at]))).toEqual(
      new Map(
        body.samples.map((one: { id: string; recorded_at: string }) => [one.id, one.recorded_at]),
      ),
    );
    const [event] = await remoteEvents();
    expect(event).toMatchObject({ event_type: 'info', occurred_at: expect.any(String) });
  });

  it('tells the service’s view of a task that it does not know', async () => {
    await agent.start();
    await state('connected');
    const id = await service.claim(robot);

    const known = await agent.call('GET', `/api/v1/tasks/${id}`);
    const unknown = await agent.call('GET', `/api/v1/tasks/${randomUUID()}`);

    expect(known.body.task).toMatchObject({ id, robot_id: robot.id });
    expect([unknown.status, unknown.body.error]).toEqual([404, 'not_found']);
  });

  it('completes a task that was claimed elsewhere', async () => {
    await agent.start();
    const id = await service.claim(robot);

    const { status } = await agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(200);
  });
});

describe('without the service', () => {
  it('takes everything, over restarts, and delivers it once the service is there', async () => {
    proxy.cut();
    await agent.start();
    const proof = newEvidence();
    const id = await agent.claim();
    await agent.complete(id, proof);
    await agent.record(numbers(50));
    await agent.record(numbers(50, 50));
    await agent.stop();
    await agent.start();
    await agent.record(numbers(20, 100));
    const { last_error: error } = await waitFor('a try', async () => {
      const status = await agent.status();
      return status.last_error === null ? null : status;
    });
    expect(error.code).toBe('service_unreachable');
    expect(await agent.status()).toMatchObject({
      connected: false,
      queues: { claims: { count: 1 }, completions: { count: 1 }, samples: { count: 120 } },
    });

    proxy.mend();
    await delivered();

    expect((await remoteTask(id)).body.verification.proof_hash).toBe(hashProof(proof));
    const stored = (await remoteSamples()).map(({ metrics }) => metrics.n);
    expect(stored.sort((a, b) => a - b)).toEqual(numbers(120).map(({ metrics }) => metrics.n));
  });

  it('repeats a request whose answer was lost, byte for byte, and nothing is stored twice', async () => {
    const lost = new Set<string>();
    proxy.handle(async ({ method, path, forward, pass, response }) => {
      if (method !== 'POST' || lost.has(path)) return pass();
      lost.add(path);
      await forward();
      response.destroy();
    });
    await agent.start();
    const id = await agent.claim();
    await agent.complete(id, newEvidence());
    await agent.record(numbers(5));
    await agent.call('POST', '/api/v1/events', { body: { event_type: 'info' } });
    await delivered();

    const paths = ['/api/v1/tasks', `/api/v1/tasks/${id}/complete`, '/api/v1/telemetry'];
    for (const path of paths) {
      const [first, second] = proxy.seenAt(path);
      expect(second?.body).toBe(first?.body);
    }
    expect(await remoteSamples()).toHaveLength(5);
    expect(await remoteEvents()).toHaveLength(1);
    const ledger = await service.call('GET', '/api/v1/credits/ledger', { session: owner.session });
    const kinds = (ledger.body.items as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'reserve')).toHaveLength(1);
  });

  it('never shows the key to where a redirect leads', async () => {
    const elsewhere = await startServiceProxy(service.url);
    proxy.fail(307, {}, { location: `${elsewhere.url}/api/v1/robot` });
    await agent.start();
    await waitFor('two tries', () => proxy.seen.length > 1, LONG);

    expect(elsewhere.seen).toEqual([]);
    await elsewhere.close();
  });
});

describe('a record that the service refuses', () => {
  it('takes its completion with it when it is a claim', async () => {
    const other = await service.makeRobot(owner, 'arm-2');
    const taken = await service.claim(other);
    await agent.start();
    await agent.call('POST', '/api/v1/tasks', { body: { id: taken, title: 'Mine' } });
    const refused = await agent.complete(taken, newEvidence(), { prefer: 'wait=60' });
    const next = await agent.complete(await agent.claim(), newEvidence(), { prefer: 'wait=60' });

    expect([refused.status, refused.body.error]).toEqual([409, 'id_conflict']);
    expect(next.status).toBe(200);
    expect((await agent.status()).refused).toBe(2);
  });

  it('is a proof of a task that another proof completed', async () => {
    await agent.start();
    const id = await service.claim(robot);
    await service.complete(robot, id);

    const { status, body } = await agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect([status, body.error]).toEqual([409, 'already_completed']);
    expect((await agent.status()).refused).toBe(1);
  });

  it('is not a receipt of another proof: that settles nothing', async () => {
    proxy.handle(async ({ path, forward, pass, response }) => {
      if (!path.endsWith('/complete')) return pass();
      const answer = await forward();
      const body = JSON.parse(answer.body);
      body.verification.proof_hash = `0x${'0'.repeat(64)}`;
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
    await agent.start();
    const id = await agent.claim();

    const { status } = await agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(409);
    expect(await agent.status()).toMatchObject({
      refused: 1,
      queues: { completions: { count: 0 } },
    });
  });

  it('is claimed again from before this spool was, and goes on', async () => {
    const id = randomUUID();
    const claim = { id, title: 'Pick', expected_result: { b: 1, a: 2 } };
    await service.claim(robot, { ...claim, occurred_at: '2026-01-01T00:00:00.000Z' });
    await agent.start();
    await agent.call('POST', '/api/v1/tasks', { body: claim });

    const { status } = await agent.complete(id, newEvidence(), { prefer: 'wait=60' });

    expect(status).toBe(200);
  });
});

describe('the key', () => {
  it('may be rotated while the agent runs: nothing is lost', async () => {
    await agent.start();
    await state('connected');
    const { body } = await service.call('POST', `/api/v1/robots/${robot.id}/rotate-key`, {
      session: owner.session,
    });
    robot = { id: robot.id, apiKey: body.api_key };
    const id = await agent.claim();
    await agent.record(numbers(3));
    await state('key_refused');
    await writeFile(agent.keyFile, robot.apiKey);
    await delivered();

    expect((await remoteTask(id)).status).toBe(200);
    expect(await remoteSamples()).toHaveLength(3);
  });

  it('is not used when others can read its file, and the robot is served meanwhile', async () => {
    await chmod(agent.keyFile, 0o644);
    await agent.start();
    const id = await agent.claim();
    await state('key_unusable');
    expect(proxy.seen).toEqual([]);

    await chmod(agent.keyFile, 0o600);
    await delivered();
    expect((await remoteTask(id)).status).toBe(200);
  });

  it('of another robot delivers nothing of this one', async () => {
    await agent.start();
    await state('connected');
    await agent.stop();
    const other = await service.makeRobot(owner, 'arm-2');
    await writeFile(agent.keyFile, other.apiKey);
    await agent.start();
    await agent.claim();
    await state('foreign_key');

    expect(proxy.seenAt('/api/v1/tasks')).toEqual([]);
    expect((await agent.status()).queues.claims.count).toBe(1);
  });

  it('stands in no log line and no answer', async () => {
    await agent.start();
    await agent.claim();
    await delivered();
    proxy.cut();
    await agent.record(numbers(1));
    await state('disconnected');

    const told = JSON.stringify([agent.logLines, await agent.status()]);
    expect(told).not.toContain(robot.apiKey.slice(4));
  });
});
