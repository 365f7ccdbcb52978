import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { limits } from '../../src/protocol/limits.ts';
import { letCompletionsIn } from '../support/fee-quote.ts';
import {
  grant,
  newEvidence,
  type Owner,
  startServiceWithRobot,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

describe('completing a task', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot({ chain: 'mining' }));
  });
  afterAll(() => service.close());

  it('returns the receipt once the transaction is in a block', async () => {
    const evidence = newEvidence();
    const taskId = await service.claim(robot);

    const reply = await service.complete(robot, taskId, evidence);

    const mined = await minedTransaction(service, reply.body.verification.tx_hash);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      verification: {
        format: 'svc-receipt/1',
        task_id: taskId,
        robot_id: robot.id,
        status: 'verified',
        proof_hash: hashProof(evidence),
        tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        block_number: BigInt(mined.blockNumber).toString(),
        anchored_at: new Date(Number(mined.timestamp) * 1000).toISOString(),
        explorer_url: `https://explorer.test/tx/${reply.body.verification.tx_hash}`,
        chain_id: 31337,
        claim_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        inclusion: null,
        finality: 'included',
      },
    });
    expect(mined.input).toContain(hashProof(evidence).slice(2));
  });

  it('shows the same receipt when the task is read', async () => {
    const taskId = await service.claim(robot);
    const completed = await service.complete(robot, taskId);

    const reply = await service.call('GET', `/api/v1/tasks/${taskId}`, { session: owner.session });

    const { tx_hash, proof_hash, explorer_url } = completed.body.verification;
    expect(reply.body.task.status).toBe('verified');
    expect(reply.body.verification).toEqual(completed.body.verification);
    const { accepted_at, anchored_by } = reply.body.anchor;
    expect(Date.parse(anchored_by) - Date.parse(accepted_at)).toBe(24 * 3_600_000);
    expect(reply.body.anchor).toEqual({
      accepted_at,
      anchored_by,
      state: 'included',
      proof_hash,
      tx_hash,
      explorer_url,
      attempts: 1,
      updated_at: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  it('accepts an array as proof', async () => {
    const taskId = await service.claim(robot);

    const reply = await service.complete(robot, taskId, [randomUUID()]);

    expect(reply.status).toBe(200);
  });

  const proof = newEvidence();

  it.each([
    { sent: 'the same evidence', body: proof, same: true, says: 'already has this evidence' },
    { sent: 'other evidence', body: newEvidence(), same: false, says: 'Other evidence was' },
    { sent: 'no evidence', body: null, same: null, says: 'what you sent was not read' },
  ])('is refused a second time, with the receipt of the first: $sent', async (second) => {
    const taskId = await service.claim(robot);
    const first = await service.complete(robot, taskId, proof);

    const reply = await service.complete(robot, taskId, second.body);

    expect(reply.status).toBe(409);
    expect(reply.body).toMatchObject({
      error: 'already_completed',
      message: expect.stringContaining(second.says),
      same_evidence: second.same,
      proof_hash: first.body.verification.proof_hash,
      verification: first.body.verification,
    });
  });

  it.each<[string, object]>([
    ['no proof', { body: {} }],
    ['a text', { body: { proof: 'done' } }],
    ['a member twice', { raw: '{"proof":{"a":1,"a":2}}' }],
    ['more than 256 KiB', { body: { proof: { text: 'x'.repeat(limits.proofBytes) } } }],
    ['more than 2 MiB', { body: { proof: { text: 'x'.repeat(limits.bodyBytes) } } }],
  ])('is refused a second time whatever the proof: %s', async (_, sent) => {
    const [open, verified] = [await service.claim(robot), await service.claim(robot)];
    await service.complete(robot, verified);
    const again = (taskId: string) =>
      service.call('POST', `/api/v1/tasks/${taskId}/complete`, { apiKey: robot.apiKey, ...sent });
    const before = await again(open);
    await service.rpc('evm_setAutomine', [false]);
    service.settings.anchorTimeoutMs = 0;
    const { status, body } = await service.complete(robot, open);

    const meanwhile = await again(open);
    const after = await again(verified);

    service.settings.anchorTimeoutMs = 30_000;
    await service.rpc('evm_setAutomine', [true]);
    await service.rpc('evm_mine');
    expect([400, 413]).toContain(before.status);
    expect(status).toBe(202);
    expect(meanwhile).toMatchObject({
      status: 409,
      body: { error: 'completion_in_progress', proof_hash: body.proof_hash },
    });
    expect(after).toMatchObject({ status: 409, body: { error: 'already_completed' } });
  });

  it('succeeds once out of many concurrent tries, and is charged once', async () => {
    const taskId = await service.claim(robot);
    const before = await service.store.getBalance(owner.wallet);

    const replies = await Promise.all(
      Array.from({ length: 20 }, () => service.complete(robot, taskId)),
    );

    const after = await service.store.getBalance(owner.wallet);
    const won = replies.filter(({ status }) => status === 200);
    const lost = replies.filter(({ status }) => status === 409);
    expect([won.length, lost.length]).toEqual([1, 19]);
    expect(new Set(lost.map(({ body }) => body.proof_hash))).toEqual(
      new Set([won[0]?.body.verification.proof_hash]),
    );
    expect((before?.anchorQuota ?? 0) - (after?.anchorQuota ?? 0)).toBe(1);
  });

  it('anchors proofs that wait together in one transaction, each with its path', async () => {
    const tasks = await Promise.all(Array.from({ length: 12 }, () => service.claim(robot)));

    const replies = await Promise.all(tasks.map((taskId) => service.complete(robot, taskId)));

    const receipts = replies.map(({ body }) => body.verification);
    expect(receipts.every((receipt) => receipt.status === 'verified')).toBe(true);
    expect(new Set(receipts.map(({ tx_hash }) => tx_hash)).size).toBeLessThan(12);
    expect(receipts.some(({ inclusion }) => inclusion !== null)).toBe(true);
  });

  it('is refused for the task of another robot', async () => {
    const taskId = await service.claim(robot);
    const sibling = await service.makeRobot(owner, 'arm-2');

    const reply = await service.complete(sibling, taskId);

    expect(reply.status).toBe(404);
    expect(reply.body.error).toBe('not_found');
  });

  describe('without credit', () => {
    async function robotWith(anchors: number, gasWei: bigint) {
      const { signup } = service.settings;
      service.settings.signup = { ...signup, anchors, gasWei };
      const poor = await service.signIn();
      service.settings.signup = signup;
      return { poor, robot: await service.makeRobot(poor) };
    }

    it('is refused for lack of anchors before lack of gas, and the task stays claimed', async () => {
      const { robot } = await robotWith(0, 0n);
      const taskId = await service.claim(robot);

      const reply = await service.complete(robot, taskId);

      const task = await service.call('GET', `/api/v1/tasks/${taskId}`, { apiKey: robot.apiKey });
      expect(reply.status).toBe(402);
      expect(reply.body.error).toBe('no_anchor_quota');
      expect(task.body).toMatchObject({ task: { status: 'claimed' }, anchor: null });
    });

    it('is refused for lack of gas, and works after a top-up', async () => {
      const { poor, robot } = await robotWith(1, 1n);
      const taskId = await service.claim(robot);
      const evidence = newEvidence();

      const refused = await service.complete(robot, taskId, evidence);
      await grant(service.store, poor.wallet, 0, 10n ** 17n);
      const reply = await service.complete(robot, taskId, evidence);

      expect(refused.status).toBe(402);
      expect(refused.body.error).toBe('no_gas_credit');
      expect(reply.status).toBe(200);
      expect((await service.store.getBalance(poor.wallet))?.anchorQuota).toBe(0);
    });
  });
});

describe('completing while no block comes', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot({
      chain: 'manual',
      settings: { anchorTimeoutMs: 1_500 },
    }));
  });
  afterAll(() => service.close());

  it('continues if the client disconnects', async () => {
    const taskId = await service.claim(robot);
    const leave = new AbortController();
    const gone = fetch(`${service.url}/api/v1/tasks/${taskId}/complete`, {
      method: 'POST',
      signal: leave.signal,
      headers: { authorization: `Bearer ${robot.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ proof: newEvidence() }),
    });
    await waitFor(
      'the queue',
      async () => (await readTask(service, robot, taskId)).body.anchor !== null,
    );

    leave.abort();

    await expect(gone).rejects.toThrow();
    await service.rpc('evm_mine');
    await waitFor('the anchor', async () => {
      await service.rpc('evm_mine');
      const { body } = await readTask(service, robot, taskId);
      return body.task.status === 'verified';
    });
  });
});

describe('completing while the anchor cannot be sent', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot({
      chain: 'mining',
      settings: { anchorTimeoutMs: 1_000 },
    }));
    await service.endChain();
  });
  afterAll(() => service.close());

  it('answers with the stored state when the server stops', async () => {
    service.settings.anchorTimeoutMs = 60_000;
    const taskId = await service.claim(robot);
    const waiting = service.complete(robot, taskId);
    await waitFor(
      'the queue',
      async () => (await readTask(service, robot, taskId)).body.anchor !== null,
    );

    service.stopping.abort();

    expect((await waiting).body.error).toBe('anchor_queued');
  });
});

describe('completing while the server stops', () => {
  it('is answered as soon as the proof is stored', async () => {
    const { service, robot } = await startServiceWithRobot({
      settings: { anchorTimeoutMs: 600_000 },
    });
    onTestFinished(() => service.close());
    await letCompletionsIn(service.store);
    const { queueCompletion } = service.store;
    service.store.queueCompletion = async (completion) => {
      service.stopping.abort();
      return queueCompletion(completion);
    };

    const reply = await service.complete(robot, await service.claim(robot));

    expect(reply.body.error).toBe('anchor_queued');
  });
});

describe('completing before the chain was first reached', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.close());

  it('is refused, and the task stays claimed', async () => {
    const robot = await service.makeRobot(await service.signIn());
    const taskId = await service.claim(robot);

    const reply = await service.complete(robot, taskId);

    const task = await readTask(service, robot, taskId);
    expect(reply.status).toBe(503);
    expect(reply.body.error).toBe('chain_unavailable');
    expect(task.body).toMatchObject({ task: { status: 'claimed' }, anchor: null });
  });
});

describe('completing a task whose proof the chain refuses before signing', () => {
  let service: TestService;
  let robot: TestRobot;
  let owner: Owner;
  beforeAll(async () => {
    // No anchorer: the test stands in for its refusal, by the same method of the store.
    ({ service, owner, robot } = await startServiceWithRobot());
  });
  afterAll(() => service.close());

  it('fails without a charge, and is retried by the next completion', async () => {
    const lease = await letCompletionsIn(service.store);
    const before = await service.store.getBalance(owner.wallet);
    const taskId = await service.claim(robot);
    const refuse = async () => {
      await waitFor(
        'the queue',
        async () => (await service.store.listQueuedProofs(lease, 1)).length === 1,
      );
      await service.store.failQueuedProofs(lease, [taskId], 'reverted', Date.now());
    };

    const [first] = await Promise.all([service.complete(robot, taskId), refuse()]);
    const failed = await readTask(service, robot, taskId);
    const [second] = await Promise.all([service.complete(robot, taskId), refuse()]);

    expect(first.status).toBe(502);
    expect(first.body.error).toBe('anchoring_failed');
    expect(failed.body.anchor).toMatchObject({ state: 'failed', tx_hash: null });
    expect(second.body.error).toBe('anchoring_failed');
    expect(await service.store.getBalance(owner.wallet)).toEqual(before);
  });
});

function readTask(service: TestService, robot: TestRobot, taskId: string) {
  return service.call('GET', `/api/v1/tasks/${taskId}`, { apiKey: robot.apiKey });
}

async function minedTransaction(service: TestService, hash: string) {
  const tx = (await service.rpc('eth_getTransactionByHash', [hash])) as {
    blockNumber: string;
    input: string;
  };
  const block = (await service.rpc('eth_getBlockByNumber', [tx.blockNumber, false])) as {
    timestamp: string;
  };
  return { ...tx, timestamp: block.timestamp };
}
