import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import type { Task, Verification } from '../../src/protocol/resources.ts';
import { startTestChain, type TestChain } from '../support/anvil.ts';
import { leavesIn, type MinedTransaction, provenBy, scanAnchors } from '../support/chain-scan.ts';
import { createServerDatabase, type ServerDatabase } from '../support/server-database.ts';
import { killServers, robotClient, signInAt, spawnServer } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';

const svcServer = path.resolve(import.meta.dirname, '../../bin/svc-server.js');

/** More than two commits of settlement take. */
const MANY = 260;

let chain: TestChain;
let dataDir: string;
let database: ServerDatabase;
let before: number;

beforeAll(async () => {
  chain = await startTestChain({ blockTime: 1 });
});
afterAll(() => chain?.close());

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'svc-crash-'));
  database = await createServerDatabase(dataDir);
  before = (await scanAnchors(chain.url)).length;
});
afterEach(async () => {
  killServers();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

interface Work {
  session: string;
  apiKey: string;
  tasks: { task: Task; proof: { index: number } }[];
}

async function claimWork(url: string, count: number): Promise<Work> {
  const { owner, session } = await signInAt(url);
  const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
  const robot = robotClient(url, body.api_key);
  const tasks = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const claim = await robot.call('createTask', { body: { title: `Parcel ${index}` } });
      return { task: claim.body.task, proof: { index } };
    }),
  );
  return { session, apiKey: body.api_key, tasks };
}

/** Hands in every proof at once; answers the receipts that came, and the codes of the refusals. */
async function completeAll(url: string, { apiKey, tasks }: Work) {
  const robot = robotClient(url, apiKey);
  const answers = await Promise.allSettled(
    tasks.map(({ task, proof }) =>
      robot.call('completeTask', { params: { id: task.id }, body: { proof } }),
    ),
  );
  return {
    receipts: answers.flatMap((answer) =>
      answer.status === 'fulfilled' && answer.value.status === 200
        ? [answer.value.body.verification]
        : [],
    ),
    refusals: answers.flatMap((answer) =>
      answer.status === 'rejected' ? [(answer.reason as { code: string }).code] : [],
    ),
  };
}

async function readReceipts(url: string, { session, tasks }: Work): Promise<Verification[]> {
  const owner = createClient({ baseUrl: url, fetch, credential: { session } });
  const receipts: Verification[] = [];
  for (const { task } of tasks) {
    const read = async () =>
      (await owner.call('getTask', { params: { id: task.id } })).body.verification;
    receipts.push(await waitFor('the receipt', read, 20_000));
  }
  return receipts;
}

function provenWork(
  { tasks }: Work,
  receipts: Verification[],
  anchors: MinedTransaction[],
): boolean[] {
  return receipts.map((receipt, index) => {
    const { task, proof } = tasks[index] ?? {};
    const claim = {
      created_at: task?.created_at,
      description: null,
      expected_result: null,
      occurred_at: null,
      title: task?.title,
    };
    return provenBy(anchors, receipt, { proof, claim });
  });
}

async function countVerified(): Promise<number> {
  return Number(await database.value("SELECT count(*) FROM tasks WHERE status = 'verified'"));
}

async function check(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [svcServer, 'check'], {
    env: { PATH: process.env.PATH, SVC_DATA_DIR: dataDir, ...database.environment },
  });
  return stdout;
}

describe('a server killed with SIGKILL when some leaves of a batch are settled', () => {
  it('settles the others after its restart, each once and with the receipts it gave', async () => {
    const { environment } = database;
    const server = { dataDir, rpcUrl: chain.url, environment };
    const doomed = await spawnServer({
      ...server,
      crash: { at: 'leaves_settled', count: 2 },
      environment: { ...environment, SVC_ANCHOR_LINGER_MS: '1000' },
    });
    const work = await claimWork(doomed.url, MANY);
    const told = await completeAll(doomed.url, work);
    expect(await doomed.ended).toBe('SIGKILL');
    const verifiedAtCrash = await countVerified();

    const heir = await spawnServer(server);
    // A request that was cut before its proof was stored is repeated, as a robot would.
    const again = await completeAll(heir.url, work);
    const receipts = await readReceipts(heir.url, work);

    expect(verifiedAtCrash).toBeGreaterThan(1);
    expect(verifiedAtCrash).toBeLessThan(MANY);
    const harmless = ['completion_in_progress', 'already_completed'];
    expect(again.refusals.filter((code) => !harmless.includes(code))).toEqual([]);
    const anchors = (await scanAnchors(chain.url)).slice(before);
    expect(leavesIn(anchors)).toBe(MANY);
    expect(provenWork(work, receipts, anchors)).not.toContain(false);
    for (const { finality: _, ...receipt } of told.receipts) {
      expect(receipts).toContainEqual(expect.objectContaining(receipt));
    }
    expect(await check()).toBe('Every invariant holds.\n');
    expect(await heir.kill('SIGTERM')).toBe('0');
  });
});
