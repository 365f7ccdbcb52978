// The clients of a robot, against the service and an agent.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  createAgentClient,
  createServiceClient,
  type RobotClient,
  retry,
} from '../../../src/client/robot.ts';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';

let service: TestService;
let proxy: ServiceProxy;
let agent: TestAgent;
let owner: Owner;
let robot: TestRobot;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining', settings: { anchorTimeoutMs: 0 } });
  ({ owner, robot } = await service.signInWithRobot());
  proxy = await startServiceProxy(service.url);
  agent = await createTestAgent({ url: proxy.url, apiKey: robot.apiKey });
  await agent.start();
});
afterEach(() => proxy.restore());
afterAll(async () => {
  await agent?.remove();
  await proxy?.close();
  await service?.close();
});

const clients: Record<string, () => RobotClient> = {
  createAgentClient: () => createAgentClient({ socketPath: agent.socketPath }),
  createServiceClient: () => createServiceClient({ baseUrl: proxy.url, apiKey: robot.apiKey }),
};
const title = 'Sort parcels';
const tasksOf = async (name: string) => {
  const { body } = await service.call('GET', '/api/v1/tasks?limit=200', { session: owner.session });
  return body.items.filter((task: { title: string }) => task.title === name);
};

describe.each(Object.entries(clients))('%s', (_, create) => {
  it('claims, completes and follows a task to its receipt', async () => {
    const client = create();

    const receipt = await client.submit({ title, proof: newEvidence(), outcome: 'failed' });

    expect(receipt).toMatchObject({ status: 'verified', robot_id: robot.id });
    const { body } = await service.call('GET', `/api/v1/tasks/${receipt.task_id}`, {
      session: owner.session,
    });
    expect(body.task.outcome).toBe('failed');
  });

  it('returns the same receipt for the same work', async () => {
    const work = { id: randomUUID(), title, proof: newEvidence() };

    const first = await create().submit(work);
    const again = await create().submit(work);

    expect(again).toEqual(first);
  });

  it('rejects other evidence of a completed task', async () => {
    const work = { id: randomUUID(), title, proof: newEvidence() };
    const client = create();
    await client.submit(work);

    await expect(client.complete(work.id, { proof: newEvidence() })).rejects.toMatchObject({
      code: 'already_completed',
      details: { same_evidence: false },
    });
  });

  it('resolves with null if the evidence is stored and not anchored yet', async () => {
    const client = create();
    const { body } = await client.call('createTask', { body: { title } });

    expect(await client.complete(body.task.id, { proof: newEvidence() })).toBeNull();
  });

  it('submits the work once, although connections end without an answer', async () => {
    const name = randomUUID();
    let cut = 3;
    proxy.handle(async ({ pass, forward, response }) => {
      if (cut === 0) return pass();
      cut -= 1;
      await forward();
      response.destroy();
    });

    const receipt = await create().submit({ title: name, proof: newEvidence() });

    expect(receipt.status).toBe('verified');
    expect(cut).toBe(0);
    expect(await tasksOf(name)).toHaveLength(1);
  });

  it('stops if the caller aborts', async () => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);

    await expect(create().submit({ title, proof: newEvidence() }, { signal })).rejects.toThrow();
  });
});

it('takes a refusal of the service as final', async () => {
  const client = createServiceClient({ baseUrl: proxy.url, apiKey: `svc_${'0'.repeat(40)}` });

  await expect(client.submit({ title, proof: newEvidence() })).rejects.toMatchObject({
    code: 'invalid_api_key',
  });
});

it('does not take a sign-in page for the service', async () => {
  let pages = 0;
  proxy.handle(async ({ pass, response }) => {
    pages += 1;
    if (pages > 1) return pass();
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Welcome to the Wi-Fi');
    return;
  });

  const receipt = await clients.createServiceClient?.().submit({ title, proof: newEvidence() });

  expect(receipt?.status).toBe('verified');
});

it('rejects the receipt of another task', async () => {
  const client = createServiceClient({ baseUrl: proxy.url, apiKey: robot.apiKey });
  const other = await client.submit({ title, proof: newEvidence() });
  proxy.handle(async ({ path, pass, forward, response }) => {
    if (!/^\/api\/v1\/tasks\/[^/]+$/.test(path)) return pass();
    const answer = await forward();
    const body = { ...JSON.parse(answer.body), verification: other };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    return;
  });

  await expect(client.submit({ title, proof: newEvidence() })).rejects.toMatchObject({
    code: 'unexpected_answer',
    message: `The receipt is of another task: ${other.task_id}.`,
  });
});

it('gives up at the end of its time', async () => {
  const client = createAgentClient({ socketPath: '/nowhere.sock', retryMs: 0 });

  await expect(client.submit({ title, proof: newEvidence() })).rejects.toMatchObject({
    code: 'service_unreachable',
  });
});

it('repeats no error of the program', async () => {
  let calls = 0;
  const wrong = async () => {
    calls += 1;
    throw new TypeError('wrong');
  };

  await expect(retry(wrong)).rejects.toThrow('wrong');
  expect(calls).toBe(1);
});
