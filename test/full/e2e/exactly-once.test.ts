import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../../../src/client/client.ts';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import { leavesIn, provenBy, scanAnchors } from '../../support/chain-scan.ts';
import { createServerDatabase, type ServerDatabase } from '../../support/server-database.ts';
import {
  robotClient,
  type ServerProcess,
  signInAt,
  spawnServer,
} from '../../support/server-process.ts';

const svcServer = path.resolve(import.meta.dirname, '../../../bin/svc-server.js');

let folder: string;
let database: ServerDatabase;
let chain: TestChain;
let server: ServerProcess;
let owner: Client;
let wallet: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-e2e-'));
  chain = await startTestChain({ blockTime: 0.1 });
  database = await createServerDatabase(folder);
  const { environment } = database;
  server = await spawnServer({ dataDir: folder, rpcUrl: chain.url, environment });
  ({ owner, wallet } = await signInAt(server.url));
});

afterAll(async () => {
  await server?.kill('SIGTERM');
  await chain?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

async function registerRobot(name: string): Promise<Client> {
  const { body } = await owner.call('createRobot', { body: { name } });
  return robotClient(server.url, String(body.api_key));
}

/** A claim of which nothing is left out, and what the chain has to commit to for it. */
async function claim(robot: Client, title: string) {
  const given = {
    title,
    description: `${title}, wrapped in "paper" – twice`,
    expected_result: { parcels: 3, fragile: [true, null], label: title },
    occurred_at: '2026-11-20T06:15:30.000Z',
  };
  const { body } = await robot.call('createTask', { body: given });
  return { ...body.task, claim: { ...given, created_at: body.task.created_at } };
}

async function svc(...args: string[]): Promise<{ stdout: string }> {
  return promisify(execFile)(process.execPath, [svcServer, ...args], {
    env: { PATH: process.env.PATH, SVC_DATA_DIR: folder, ...database.environment },
  });
}

async function anchorQuota(): Promise<number> {
  return JSON.parse((await svc('credits', 'show', wallet, '--json')).stdout).anchor_quota;
}

describe('200 completions at once by 20 robots, on a chain with 1-second blocks', () => {
  it('lead to 200 receipts that the chain proves, in few transactions, with a consistent ledger', async () => {
    const before = (await scanAnchors(chain.url)).length;
    const quotaBefore = await anchorQuota();
    const robots = await Promise.all(
      Array.from({ length: 20 }, (_, index) => registerRobot(`arm-${index}`)),
    );
    const work = await Promise.all(
      robots.flatMap((robot, index) =>
        Array.from({ length: 10 }, async (_, round) => ({
          robot,
          task: await claim(robot, `Parcel ${index}.${round}`),
          proof: { weights: [index, round, 0.5], done: true },
        })),
      ),
    );

    const answers = await Promise.all(
      work.map(({ robot, task, proof }) =>
        robot.call('completeTask', { params: { id: task.id }, body: { proof } }),
      ),
    );

    const anchors = (await scanAnchors(chain.url)).slice(before);
    const unproven = answers.filter((answer, index) => {
      const { task, proof } = work[index] ?? {};
      if (answer.status !== 200 || task === undefined) return true;
      return !provenBy(anchors, answer.body.verification, { proof, claim: task.claim });
    });
    expect(unproven).toEqual([]);
    expect(leavesIn(anchors)).toBe(200);
    expect(anchors.length).toBeLessThan(20);
    expect((await svc('check')).stdout).toBe('Every invariant holds.\n');
    expect(await anchorQuota()).toBe(quotaBefore - 200);
  });
});

describe('50 completions at once of one task', () => {
  it('lead to one anchor, and report the first proof to the others', async () => {
    const robot = await registerRobot('twin');
    const task = await claim(robot, 'Open the gate');
    const before = (await scanAnchors(chain.url)).length;

    const answers = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        robot.call('completeTask', { params: { id: task.id }, body: { proof: { try: index } } }),
      ),
    );

    const won = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const lost = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    expect(won.map(({ status }) => status)).toEqual([200]);
    const accepted = won[0]?.status === 200 ? won[0].body.verification.proof_hash : '';
    expect(lost).toHaveLength(49);
    for (const error of lost) {
      expect(error).toMatchObject({ details: { status: 409, proof_hash: accepted } });
      expect(['completion_in_progress', 'already_completed']).toContain(error.code);
    }
    expect((await scanAnchors(chain.url)).length - before).toBe(1);
    expect((await svc('check')).stdout).toBe('Every invariant holds.\n');
  });
});
