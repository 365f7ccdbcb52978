import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { createTestAgent, type TestAgent } from './agent.ts';
import { runInProcess } from './run-in-process.ts';
import { type Owner, startTestService, type TestRobot, type TestService } from './service.ts';
import { type ServiceProxy, startServiceProxy } from './service-proxy.ts';
import { waitFor } from './wait-for.ts';

export interface DoctorScene {
  readonly service: TestService;
  readonly owner: Owner;
  readonly robot: TestRobot;
  /** Between the agent and the service. */
  readonly proxy: ServiceProxy;
  /** Another one for each test. */
  readonly agent: TestAgent;
  startConnected(): Promise<void>;
  doctor(
    changes?: Record<string, string>,
    start?: typeof runInProcess,
  ): Promise<{
    exitCode: number | null;
    ok: boolean;
    checks: Map<string, { name: string; ok: boolean; detail: string }>;
  }>;
}

/** A service for the tests of this file, and what `svc-agent doctor --json` says of an agent, its checks by name. */
export function setUpDoctorScene(): DoctorScene {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  let proxy: ServiceProxy;
  let agent: TestAgent;

  beforeAll(async () => {
    service = await startTestService();
    ({ owner, robot } = await service.signInWithRobot());
    proxy = await startServiceProxy(service.url);
  });

  beforeEach(async () => {
    const env = { SVC_AGENT_SPOOL_MAX_MB: '32' };
    agent = await createTestAgent({ url: proxy.url, apiKey: robot.apiKey, env });
  });

  afterEach(async () => {
    proxy.restore();
    await agent.remove();
  });

  afterAll(async () => {
    await proxy?.close();
    await service?.close();
  });

  return {
    get service() {
      return service;
    },
    get owner() {
      return owner;
    },
    get robot() {
      return robot;
    },
    get proxy() {
      return proxy;
    },
    get agent() {
      return agent;
    },
    async startConnected() {
      await agent.start();
      await waitFor('the connection', async () => (await agent.status()).connected);
    },
    async doctor(changes = {}, start = runInProcess) {
      const env = { ...agent.environment, ...changes };
      const { exitCode, stdout, stderr } = await start('svc-agent', ['doctor', '--json'], { env });
      expect(stderr).toBe('');
      const { ok, checks } = JSON.parse(stdout);
      const named = checks.map((check: { name: string }) => [check.name, check]);
      return { exitCode, ok, checks: new Map(named) };
    },
  };
}
