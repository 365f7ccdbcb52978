import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createTestAgent, type TestAgent } from './agent.ts';
import { type Owner, startTestService, type TestRobot, type TestService } from './service.ts';
import { type ServiceProxy, startServiceProxy } from './service-proxy.ts';
import { waitFor } from './wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 60_000;

export const numbers = (count: number, first = 0) =>
  Array.from({ length: count }, (_, i) => ({ metrics: { n: first + i } }));

/** A service for the tests of this file, and for each test a robot, its agent, and a proxy between the two. */
export function setUpUploads() {
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

  const itemsAt = async (path: string) =>
    (await service.call('GET', path, { session: owner.session })).body.items;
  const isDelivered = async () => {
    const { queues } = await agent.status();
    return Object.values<{ count: number }>(queues).every(({ count }) => count === 0);
  };
  return {
    get service() {
      return service;
    },
    get proxy() {
      return proxy;
    },
    get owner() {
      return owner;
    },
    get robot() {
      return robot;
    },
    set robot(changed) {
      robot = changed;
    },
    get agent() {
      return agent;
    },
    remoteTask: (id: string) =>
      service.call('GET', `/api/v1/tasks/${id}`, { apiKey: robot.apiKey }),
    remoteSamples: (): Promise<{ id: string; metrics: { n: number }; recorded_at: string }[]> =>
      itemsAt(`/api/v1/robots/${robot.id}/telemetry?limit=200`),
    remoteEvents: (): Promise<{ event_type: string; occurred_at: string }[]> =>
      itemsAt('/api/v1/events'),
    delivered: () => waitFor('the delivery', isDelivered, LONG),
    state: (wanted: string) =>
      waitFor(`state ${wanted}`, async () => (await agent.status()).state === wanted, LONG),
  };
}
