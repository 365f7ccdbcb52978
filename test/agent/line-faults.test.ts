import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { createTestAgent } from '../support/agent.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

/** Room for the agent's own time-outs and a busy machine; nothing here is a measure of speed. */
const LONG = 240_000;

/** The line's rates below stand for a twentieth, and so does the time that the service gives a request to arrive. */
const ARRIVAL_MS = 1_500;
const KILOBYTE_PER_SECOND = 20 * 1024;

let service: TestService;

beforeAll(async () => {
  service = await startTestService({
    chain: 'mining',
    timeouts: { headersMs: ARRIVAL_MS, requestMs: ARRIVAL_MS, checkMs: 100 },
  });
});

afterAll(() => service?.close());

interface Robot {
  line: TcpProxy;
  agent: Awaited<ReturnType<typeof createTestAgent>>;
  /** Claims a task, hands in a proof of so many bytes, and records samples of so many bytes each. */
  work(bytes?: { proof?: number; sample?: number; samples?: number }): Promise<void>;
  connected(): Promise<unknown>;
  /** Waits until all is delivered, and holds what was answered against what the service has. */
  expectAllOnce(): Promise<void>;
}

/** A robot whose agent reaches the service over a line of its own. */
async function withRobot(test: (robot: Robot) => Promise<void>): Promise<void> {
  const line = await startTcpProxy(service.url);
  const { owner, robot } = await service.signInWithRobot();
  const agent = await createTestAgent({ url: line.url, apiKey: robot.apiKey });
  const proofs = new Map<string, string>();
  const samples = new Set<string>();
  const work: Robot['work'] = async ({
    proof: proofBytes = 100,
    sample = 10,
    samples: count = 50,
  } = {}) => {
    const id = await agent.claim();
    const proof = { run: randomUUID(), log: 'x'.repeat(proofBytes) };
    const completed = await agent.complete(id, proof);
    expect(completed.status).toBe(202);
    proofs.set(id, hashProof(proof));
    const recorded = await agent.record(
      Array.from({ length: count }, () => ({ metrics: { scan: 'y'.repeat(sample) } })),
    );
    expect(recorded.status).toBe(201);
    for (const one of recorded.body.samples) samples.add(one.id);
  };
  const isDelivered = async () => {
    const { lanes } = await agent.status();
    return Object.values<{ count: number }>(lanes).every(({ count }) => count === 0);
  };
  const pages = async (path: string) => {
    const items: { id: string; kind?: string }[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await service.call('GET', `${path}?limit=200${cursor}`, {
        session: owner.session,
      });
      items.push(...body.items);
      if (body.next_cursor === null) return items;
      cursor = `&cursor=${body.next_cursor}`;
    }
  };
  const expectAllOnce = async () => {
    await waitFor('the delivery', isDelivered, LONG);
    for (const [id, hash] of proofs) {
      const { body } = await service.call('GET', `/api/v1/tasks/${id}`, { apiKey: robot.apiKey });
      expect(body.verification?.proof_hash).toBe(hash);
    }
    const stored = (await pages(`/api/v1/robots/${robot.id}/telemetry`)).map(({ id }) => id);
    expect(stored.sort()).toEqual([...samples].sort());
    const ledger = await pages('/api/v1/credits/ledger');
    expect(ledger.filter(({ kind }) => kind === 'reserve')).toHaveLength(proofs.size);
    expect((await agent.status()).refused).toBe(0);
  };
  const connected = () => waitFor('it', async () => (await agent.status()).connected, LONG);
  try {
    await agent.start();
    await test({ line, agent, work, connected, expectAllOnce });
  } finally {
    await agent.remove();
    await line.close();
  }
}

describe.concurrent('what the agent answered arrives once', () => {
  it('where nobody listens for a while', { timeout: LONG }, () =>
    withRobot(async ({ line, agent, work, connected, expectAllOnce }) => {
      await connected();
      await line.refuse();
      for (let n = 0; n < 3; n++) await work();
      await waitFor('a try', async () => !(await agent.status()).connected, LONG);
      await line.mend();

      await expectAllOnce();
    }),
  );

  it.each([
    ['requests', { up: 700 }],
    ['answers', { down: 250 }],
  ])('where connections are reset in the middle of %s', { timeout: LONG }, (_, bytes) =>
    withRobot(async ({ line, agent, work, connected, expectAllOnce }) => {
      await connected();
      line.cutAfter(bytes);
      for (let n = 0; n < 3; n++) await work();
      await waitFor('a reset', async () => (await agent.status()).last_error, LONG);
      await line.mend();

      await expectAllOnce();
    }),
  );

  it(
    'where the line goes dead for longer than any call may take, and leaves its connections open',
    {
      timeout: LONG,
    },
    () =>
      withRobot(async ({ line, agent, work, connected, expectAllOnce }) => {
        await connected();
        await work();
        line.stall();
        for (let n = 0; n < 8; n++) await work();
        await waitFor(
          'a call to be given up',
          async () => (await agent.status()).last_error?.code === 'timed_out',
          LONG,
        );
        await line.mend();

        await expectAllOnce();
      }),
  );

  it('over a line too slow for what goes at once otherwise', { timeout: LONG }, () =>
    withRobot(async ({ line, work, connected, expectAllOnce }) => {
      await connected();
      line.throttle(KILOBYTE_PER_SECOND);
      await work({ sample: 3_000, proof: 100 });
      for (let n = 0; n < 4; n++) await work({ samples: 1, proof: 12_000 });

      await expectAllOnce();
    }),
  );
});
