import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { createTestAgent, type TestAgent } from './agent.ts';
import type { TestService } from './service.ts';
import { waitFor } from './wait-for.ts';

/** Room for the agent's own time-outs and a busy machine; nothing here is a measure of speed. */
const LONG = 240_000;

interface Line {
  url: string;
  close(): Promise<void>;
}

export interface WorkingRobot<Proxy extends Line> {
  /** The proxy between its agent and the service. */
  line: Proxy;
  agent: TestAgent;
  apiKey: string;
  /**
   * Claims a task, submits a proof of the given size, and records samples of the given size each, in bytes. `isClaimed`: the
   * service has the claim before.
   */
  work(bytes?: {
    proof?: number;
    sample?: number;
    samples?: number;
    isClaimed?: boolean;
  }): Promise<void>;
  connected(): Promise<unknown>;
  /** Waits until everything is delivered, and compares the agent's answers with the service. */
  expectAllOnce(): Promise<void>;
}

/** Runs a test with a robot whose agent reaches the service over a line of its own. */
export async function withWorkingRobot<Proxy extends Line>(
  service: TestService,
  startLine: (url: string) => Promise<Proxy>,
  test: (robot: WorkingRobot<Proxy>) => Promise<void>,
): Promise<void> {
  const line = await startLine(service.url);
  const { owner, robot } = await service.signInWithRobot();
  const agent = await createTestAgent({ url: line.url, apiKey: robot.apiKey });
  const proofs = new Map<string, string>();
  const samples = new Set<string>();
  const work: WorkingRobot<Line>['work'] = async ({
    proof: proofBytes = 100,
    sample = 10,
    samples: count = 50,
    isClaimed = false,
  } = {}) => {
    const id = await agent.claim();
    const claims = async () => (await agent.status()).queues.claims.count;
    if (isClaimed) await waitFor('the claim', async () => (await claims()) === 0, LONG);
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
    const { queues } = await agent.status();
    return Object.values<{ count: number }>(queues).every(({ count }) => count === 0);
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
    await test({ line, agent, apiKey: robot.apiKey, work, connected, expectAllOnce });
  } finally {
    await agent.remove();
    await line.close();
  }
}
