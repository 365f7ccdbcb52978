import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import type { AgentsReport, AgentsWork } from '../../support/many-agents.ts';
import {
  killServers,
  type ServerProcess,
  signInAt,
  spawnServer,
} from '../../support/server-process.ts';

const ROBOTS = 500;
const PROCESSES = 4;
const SAMPLES = 50;
const EVENTS = 3;

let folder: string;
let chain: TestChain;
let server: ServerProcess;
/** Two accounts with half of the robots each: an owner may create 300 a minute. */
let owners: Client[];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-many-'));
  chain = await startTestChain({ blockTime: 1 });
  server = await spawnServer({ dataDir: folder, rpcUrl: chain.url });
  owners = [(await signInAt(server.url)).owner, (await signInAt(server.url)).owner];
});

afterAll(async () => {
  await server?.kill('SIGTERM');
  killServers();
  await chain?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs agents in a process of their own. */
async function runAgents(work: AgentsWork): Promise<AgentsReport> {
  const child = spawn(
    process.execPath,
    ['--import', './test/support/typescript.js', 'test/support/many-agents.ts'],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: process.env.PATH } },
  );
  child.stdin.end(JSON.stringify(work));
  return JSON.parse(await text(child.stdout));
}

async function newRobots(owner: Client): Promise<{ owner: Client; id: string; apiKey: string }[]> {
  const robots = [];
  for (let n = 0; n < ROBOTS / owners.length; n += 1) {
    const { body } = await owner.call('createRobot', { body: { name: `arm ${n}` } });
    robots.push({ owner, id: body.robot.id, apiKey: String(body.api_key) });
  }
  return robots;
}

describe('500 agents at one address', { timeout: 420_000 }, () => {
  it('deliver all their records without an error', async () => {
    const robots = (await Promise.all(owners.map(newRobots))).flat();
    const keys = robots.map(({ apiKey }) => apiKey);
    const perProcess = ROBOTS / PROCESSES;

    const reports = await Promise.all(
      Array.from({ length: PROCESSES }, (_, n) =>
        runAgents({
          url: server.url,
          apiKeys: keys.slice(n * perProcess, (n + 1) * perProcess),
          samples: SAMPLES,
          events: EVENTS,
          mostMs: 300_000,
        }),
      ),
    );

    expect(reports.flatMap(({ errors }) => errors)).toEqual([]);
    expect(reports.map(({ left }) => left)).toEqual(Array(PROCESSES).fill(0));
    for (const owner of owners) {
      const { tasks, battery } = (await owner.call('getStats')).body;
      expect(tasks.verified).toBe(ROBOTS / owners.length);
      expect(battery.unknown).toBe(0);
    }
    for (const { owner, id } of robots.filter((_, n) => n % 25 === 0)) {
      const { body } = await owner.call('readTelemetry', {
        params: { id },
        query: { limit: '200' },
      });
      expect('items' in body && body.items).toHaveLength(SAMPLES);
    }
  });
});
