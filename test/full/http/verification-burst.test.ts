import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestChain, type TestChain } from '../../support/anvil.ts';
import {
  killServers,
  robotClient,
  type ServerProcess,
  signInAt,
  spawnServer,
} from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

const ANCHORS = 240;
const AT_ONCE = 200;
/** Two seconds on an idle machine, five times as many beside all other tests. */
const LIMIT_MS = 30_000;

describe('public verification of fresh anchors, with the default limits', () => {
  let dataDir: string;
  let chain: TestChain;
  let server: ServerProcess;
  let receipts: { proof_hash: string; block_number: string }[];
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'svc-burst-'));
    // A block for each transaction, and a transaction for each proof: no two verifications share a read.
    chain = await startTestChain({ blockTime: 'transaction' });
    server = await spawnServer({
      dataDir,
      rpcUrl: chain.url,
      environment: {
        SVC_ANCHOR_BATCH_MAX: '1',
        // Otherwise older anchors have a stored proof when the last one is new.
        SVC_CHAIN_PROOFS: 'false',
        SVC_TRUST_PROXY: '127.0.0.1',
      },
    });
    receipts = await anchor();
  }, 180_000);
  afterAll(async () => {
    killServers();
    await chain.close();
    await rm(dataDir, { recursive: true });
  });

  async function anchor() {
    const { owner } = await signInAt(server.url);
    const { body } = await owner.call('createRobot', { body: { name: 'arm' } });
    const robot = robotClient(server.url, String(body.api_key));
    const complete = async () => {
      const { id } = (await robot.call('createTask', { body: { title: 'Sort' } })).body.task;
      const completion = { params: { id }, body: { proof: { id } } };
      const answer = await waitFor('its receipt', () =>
        robot.call('completeTask', completion).then(
          ({ body }) => ('verification' in body ? body.verification : undefined),
          () => undefined,
        ),
      );
      return answer as { proof_hash: string; block_number: string };
    };
    const first = await complete();
    return [first, ...(await Promise.all(Array.from({ length: ANCHORS - 1 }, complete)))];
  }

  const verify = async ({ proof_hash }: { proof_hash: string }, source: string) => {
    const answer = await fetch(`${server.url}/api/v1/verify/${proof_hash}`, {
      headers: { 'x-forwarded-for': source },
    });
    return { status: answer.status, body: (await answer.json()) as { verified?: boolean } };
  };

  it.each([
    ['20 addresses', 20],
    ['one address', 1],
  ])('answers 200 simultaneous calls from %s within 30 s', async (_, sources) => {
    const offset = sources === 1 ? ANCHORS - AT_ONCE : 0;
    const begun = performance.now();
    const answers = await Promise.all(
      receipts
        .slice(offset, offset + AT_ONCE)
        .map((receipt, i) => verify(receipt, `192.0.2.${i % sources}`)),
    );
    const ms = performance.now() - begun;

    const blocks = new Set(receipts.map(({ block_number }) => block_number));
    expect(blocks.size).toBe(ANCHORS);
    expect(answers.filter(({ body }) => body.verified !== true)).toEqual([]);
    expect(ms).toBeLessThan(LIMIT_MS);
  });
});
