import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashProof } from '../../../src/proof/hash.ts';
import { type AgentProcess, killAgents, spawnAgent } from '../../support/agent-process.ts';
import { callLocally } from '../../support/local-call.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { type ServiceProxy, startServiceProxy } from '../../support/service-proxy.ts';
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Room for a busy machine; nothing here is a measure of speed. */
const LONG = 120_000;
const DISK_BYTES = 12 * 1024 * 1024;

let service: TestService;
let proxy: ServiceProxy;
let owner: Owner;
let robot: TestRobot;
let disk: SmallDisk;
let folder: string;
let agent: AgentProcess;
let lines: string[];
let proofs: Map<string, string>;
let samples: Set<string>;

beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
});

afterAll(async () => {
  killAgents();
  await service?.close();
});

beforeEach(async () => {
  [lines, proofs, samples] = [[], new Map(), new Set()];
  proxy = await startServiceProxy(service.url);
  ({ owner, robot } = await service.signInWithRobot());
  disk = await mountSmallDisk(DISK_BYTES);
  folder = await mkdtemp(path.join(tmpdir(), 'svc-agent-'));
  await start();
});

afterEach(async () => {
  await agent.kill('SIGKILL');
  await disk.remove();
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const env = {
    SVC_AGENT_URL: proxy.url,
    SVC_AGENT_KEY: robot.apiKey,
    SVC_AGENT_STATE_DIR: path.join(disk.folder, 'state'),
    SVC_AGENT_SOCKET: path.join(folder, 'agent.sock'),
  };
  agent = await spawnAgent(env, (line) => lines.push(line), disk.within);
}

const call = (method: string, target: string, body?: object) =>
  callLocally({ socketPath: path.join(folder, 'agent.sock') }, method, target, { body });
const status = async () => (await call('GET', '/api/v1/status')).body;

/** A claim, its proof and ten samples; answers the statuses. What was answered well is what is promised. */
async function work(): Promise<number[]> {
  const [id, proof] = [randomUUID(), newEvidence()];
  const claimed = await call('POST', '/api/v1/tasks', { id, title: 'Sort' });
  const completed = await call('POST', `/api/v1/tasks/${id}/complete`, { proof });
  const body = {
    samples: Array.from({ length: 10 }, () => ({ metrics: { scan: 'x'.repeat(4000) } })),
  };
  const recorded = await call('POST', '/api/v1/telemetry', body);
  if (claimed.status === 201 && completed.status === 202) proofs.set(id, hashProof(proof));
  if (recorded.status === 201) for (const sample of recorded.body.samples) samples.add(sample.id);
  return [claimed.status, completed.status, recorded.status];
}

/** Works until the agent refuses something. */
async function workUntilFull(): Promise<void> {
  await waitFor('a full disk', async () => (await work()).includes(507), LONG);
}

/** Works again when everything is taken. */
async function workAgain(): Promise<void> {
  await waitFor('room', async () => (await work()).every((one) => one < 300), LONG);
}

async function delivered(): Promise<void> {
  const isDelivered = async () =>
    Object.values<{ count: number }>((await status()).queues).every(({ count }) => count === 0);
  await waitFor('the delivery', isDelivered, LONG);
}

/** What was answered well is there once, but for samples of which an event says that they had to go. */
async function expectAllOnce(): Promise<void> {
  for (const [id, hash] of proofs) {
    const { body } = await service.call('GET', `/api/v1/tasks/${id}`, { apiKey: robot.apiKey });
    expect(body.verification?.proof_hash).toBe(hash);
  }
  const stored = (await pages(`/api/v1/robots/${robot.id}/telemetry`)).map(({ id }) => id);
  const events = await pages('/api/v1/events');
  const dropped = events.reduce((sum, { payload }) => sum + (payload?.count ?? 0), 0);
  const missing = [...samples].filter((id) => !stored.includes(id));
  expect(new Set(stored).size).toBe(stored.length);
  expect(missing.length).toBeLessThanOrEqual(dropped);
  expect((await status()).refused).toBe(0);
}

async function pages(target: string): Promise<{ id: string; payload?: { count?: number } }[]> {
  const items = [];
  for (let cursor = ''; ; ) {
    const { body } = await service.call('GET', `${target}?limit=200${cursor}`, {
      session: owner.session,
    });
    items.push(...body.items);
    if (body.next_cursor === null) return items;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

/** No file of the process may grow or be written beyond its first byte: EFBIG, as EIO or EROFS for SQLite. */
function failWrites(pid: number, isFailing: boolean): Promise<unknown> {
  const size = isFailing ? '0:unlimited' : 'unlimited';
  return promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${size}`]);
}

const warnings = () =>
  lines.filter((line) => ['warn', 'error', 'fatal'].includes(JSON.parse(line).level));

describe('a full disk', () => {
  it('is reported with 507, loses no acknowledged record, and is drained without more room', {
    timeout: LONG,
  }, async () => {
    proxy.cut();
    for (let n = 0; n < 20; n++) expect(await work()).toEqual([201, 202, 201]);
    await disk.fill();
    await workUntilFull();

    proxy.restore();
    await delivered();

    await expectAllOnce();
    expect(warnings().length).toBeLessThan(1000);
  });

  it('allows a start and is drained, after a kill and after a stop, and then accepts records again', {
    timeout: LONG,
  }, async () => {
    proxy.cut();
    for (let n = 0; n < 20; n++) await work();
    await disk.fill();
    await workUntilFull();
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await agent.kill(signal);
      await start();
    }

    proxy.restore();
    await delivered();
    await disk.free();
    await workAgain();
    await delivered();

    await expectAllOnce();
  });
});

describe('a disk that fails all writes', () => {
  it('is reported with 507, causes no busy loop, and works again when it is writable', {
    timeout: LONG,
  }, async () => {
    proxy.cut();
    for (let n = 0; n < 3; n++) await work();
    await failWrites(agent.pid, true);
    proxy.restore();
    await workUntilFull();
    await waitFor('the failure to be told', () => warnings().length > 0, LONG);
    await waitFor('a while of it', async () => (await status()).spool.failure !== null, LONG);
    const asked = proxy.seen.length;
    expect(asked).toBeLessThan(50);

    await failWrites(agent.pid, false);
    await workAgain();
    await delivered();

    await expectAllOnce();
  });

  it('prevents the start if it is read-only, with a reason', {
    timeout: LONG,
  }, async () => {
    await agent.kill('SIGTERM');
    await disk.beReadOnly(true);

    await expect(start()).rejects.toThrow(/svc-agent ended with 1: .*Cannot write the spool/);
  });
});
