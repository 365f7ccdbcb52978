import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestAgent, type TestAgent } from '../../support/agent.ts';
import { killAgents, spawnAgent } from '../../support/agent-process.ts';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { startTestService, type TestRobot, type TestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

let service: TestService;
let robot: TestRobot;
let daemon: TestAgent;

const file = (name: string) => path.join(daemon.folder, name);
const agent = (args: string[], input?: string) =>
  runInProcess('svc-agent', args, {
    env: daemon.environment,
    ...(input !== undefined && { input }),
  });

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  ({ robot } = await service.signInWithRobot());
  daemon = await createTestAgent({ url: service.url, apiKey: robot.apiKey });
  await daemon.start();
  await waitFor('the connection', async () => (await daemon.status()).connected);
});

afterAll(async () => {
  killAgents();
  await daemon?.remove();
  await service?.close();
});

describe('run', () => {
  it('lists every missing setting', async () => {
    const { exitCode, stderr } = await run('svc-agent', ['run']);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/SVC_AGENT_URL is not set\n.*SVC_AGENT_KEY_FILE .* is not set/);
  });

  it('refuses a spool that another agent uses, and spool compact too, but not spool export', async () => {
    const own = { ...daemon.environment, SVC_AGENT_SOCKET: file('second.sock') };

    const second = await run('svc-agent', ['run'], { env: own });
    const compacted = await agent(['spool', 'compact']);
    const exported = await agent(['spool', 'export']);

    expect([second.exitCode, compacted.exitCode, exported.exitCode]).toEqual([1, 1, 0]);
    expect(second.stderr).toContain('Another svc-agent uses the spool');
    expect(compacted.stderr).toContain('Another svc-agent uses the spool');
    expect(exported.stderr).toMatch(/^\d+ records of the running daemon\.\n$/);
  });

  it('stops on SIGTERM and keeps every record, as spool export shows', async () => {
    const own = {
      ...daemon.environment,
      SVC_AGENT_URL: 'http://127.0.0.1:9',
      SVC_AGENT_STATE_DIR: file('stopped'),
      SVC_AGENT_SOCKET: file('stopped.sock'),
    };
    const stopping = await spawnAgent(own);
    const call = (args: string[], input = '') =>
      runInProcess('svc-agent', args, { env: own, input });
    const task = (await call(['claim', 'Offline'])).stdout.trim();
    await call(['complete', task, '-'], '{"picked":3}');
    await call(['telemetry', '--battery', '3']);

    const beside = await call(['spool', 'export']);

    expect(await stopping.kill('SIGTERM')).toBe('0');
    const { stdout } = await call(['spool', 'export']);
    const compacted = await run('svc-agent', ['spool', 'compact'], { env: own });

    const records = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records.map(({ kind, body }) => [kind, body])).toEqual([
      ['claim', { title: 'Offline' }],
      ['completion', { picked: 3 }],
      ['sample', { battery_pct: 3 }],
    ]);
    expect(compacted.exitCode).toBe(0);
    expect(beside.stdout).toBe(stdout);
  });
});
