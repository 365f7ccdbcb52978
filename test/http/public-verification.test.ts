import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { auditAnchor } from '../../src/proof/audit-anchor.ts';
import { auditBundleAlone } from '../../src/proof/audit-bundle.ts';
import { isProven } from '../../src/proof/audit-check.ts';
import { hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { readAnchoredLeaf } from '../../src/proof/subject/anchor-members.ts';
import {
  newEvidence,
  startServiceWithRobot,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';

describe('public verification', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
    robot = await service.makeRobot(await service.signIn(), 'picker');
  });
  afterAll(() => service.close());

  const verify = (hash: string, query = '') =>
    service.call('GET', `/api/v1/verify/${hash}${query}`);

  async function anchored(evidence = newEvidence()) {
    const taskId = await service.claim(robot);
    const { body } = await service.complete(robot, taskId, evidence);
    return { taskId, receipt: body.verification };
  }

  it('returns the transaction of an anchor, so that anyone can compare the receipt with it', async () => {
    const { receipt } = await anchored();

    const { status, body } = await service.call('GET', `/api/v1/transactions/${receipt.tx_hash}`);

    expect(status).toBe(200);
    const checks = auditAnchor(receipt, body);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(body.tx.input).toContain(receipt.proof_hash.slice(2));
  });

  it('returns the anchor of a leaf to anyone who knows leaf and task', async () => {
    const { receipt } = await anchored();
    const leaf = leafHash(receipt);
    const read = (id: string) => service.call('GET', `/api/v1/leaves/${leaf}?task_id=${id}`);

    const [found, ofOther] = [await read(receipt.task_id), await read(robot.id)];

    expect([found.status, ofOther.body.error]).toEqual([200, 'leaf_not_anchored']);
    const document = readAnchoredLeaf(found.body);
    expect(document).toMatchObject({ leaf, anchor: { tx_hash: receipt.tx_hash } });
    expect(isProven(auditBundleAlone(document))).toBe(true);
  });

  it('returns only transactions of anchors', async () => {
    const { status, body } = await service.call('GET', `/api/v1/transactions/0x${'ab'.repeat(32)}`);

    expect(status).toBe(404);
    expect(body.error).toBe('not_found');
  });

  it('reports what the chain holds, to anyone', async () => {
    const { taskId, receipt } = await anchored();

    const reply = await verify(receipt.proof_hash);

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      verified: true,
      proof_hash: receipt.proof_hash,
      task: {
        id: taskId,
        title: 'Sort the parcels',
        robot: 'picker',
        status: 'verified',
        robot_id: robot.id,
        claim_hash: receipt.claim_hash,
      },
      anchor: {
        tx_hash: receipt.tx_hash,
        block_number: receipt.block_number,
        anchored_at: receipt.anchored_at,
        explorer_url: receipt.explorer_url,
        on_chain_payload_found: true,
        chain_id: 31337,
        from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
        inclusion: null,
        confirmations: expect.stringMatching(/^[1-9]\d*$/),
        finality: expect.stringMatching(/^(included|safe|finalized)$/),
      },
      occurrences: 1,
      checked_at: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  it('verifies each proof of a batch by its path', async () => {
    const batch = await Promise.all(Array.from({ length: 8 }, () => anchored()));

    const replies = await Promise.all(batch.map(({ receipt }) => verify(receipt.proof_hash)));

    expect(replies.map(({ body }) => body.verified)).toEqual(batch.map(() => true));
    expect(replies.map(({ body }) => body.anchor.inclusion)).toEqual(
      batch.map(({ receipt }) => receipt.inclusion),
    );
    expect(batch.some(({ receipt }) => receipt.inclusion !== null)).toBe(true);
  });

  it('reads the hash in any case', async () => {
    const { receipt } = await anchored();

    const reply = await verify(`0x${receipt.proof_hash.slice(2).toUpperCase()}`);

    expect(reply.body).toMatchObject({ verified: true, proof_hash: receipt.proof_hash });
  });

  it('counts the tasks of one hash, and selects one', async () => {
    const evidence = newEvidence();
    const first = await anchored(evidence);
    const second = await anchored(evidence);

    const either = await verify(first.receipt.proof_hash);
    const selected = await verify(first.receipt.proof_hash, `?task_id=${second.taskId}`);

    expect(either.body).toMatchObject({ task: { id: first.taskId }, occurrences: 2 });
    expect(selected.body).toMatchObject({ task: { id: second.taskId }, verified: true });
  });

  it('finds no task for an unknown hash, or for a task with another hash', async () => {
    const { receipt } = await anchored();
    const other = await anchored();

    const unknown = await verify(hashProof(newEvidence()));
    const mismatch = await verify(receipt.proof_hash, `?task_id=${other.taskId}`);

    expect(unknown.status).toBe(404);
    expect(unknown.body.error).toBe('not_found');
    expect(mismatch.body.error).toBe('not_found');
  });

  it.each([
    '0x',
    'abc',
    `0x${'g'.repeat(64)}`,
    `0x${'a'.repeat(63)}`,
    'a'.repeat(64),
    'x'.repeat(5000),
  ])('refuses the hash %s as malformed', async (hash) => {
    const reply = await verify(hash);

    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('invalid_proof_hash');
  });

  it('reports a queued proof as not verified, without chain data', async () => {
    service.settings.anchorTimeoutMs = 0;
    const slow = await service.claim(robot);
    await service.rpc('evm_setIntervalMining', [0]);
    const { body } = await service.complete(robot, slow);

    const reply = await verify(body.proof_hash);

    await service.rpc('evm_setAutomine', [true]);
    service.settings.anchorTimeoutMs = 30_000;
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      verified: false,
      task: { status: 'claimed' },
      anchor: {
        block_number: null,
        anchored_at: null,
        on_chain_payload_found: false,
        from: null,
        inclusion: null,
        confirmations: null,
        finality: null,
      },
    });
  });

  it('serves many simultaneous calls', async () => {
    const { receipt } = await anchored();

    const replies = await Promise.all(
      Array.from({ length: 200 }, () => verify(receipt.proof_hash)),
    );

    expect(replies.every(({ body }) => body.verified === true)).toBe(true);
  });

  it('reports an unreadable chain, never an unverified proof', async () => {
    const chainless = await startServiceWithRobot({ chain: 'mining' });
    onTestFinished(chainless.service.close);
    const taskId = await chainless.service.claim(chainless.robot);
    const { body } = await chainless.service.complete(chainless.robot, taskId);
    await chainless.service.endChain();

    const { proof_hash } = body.verification;
    const reply = await chainless.service.call('GET', `/api/v1/verify/${proof_hash}`);

    expect(reply.status).toBe(503);
    expect(reply.body.error).toBe('chain_unavailable');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(JSON.stringify(reply.body)).not.toContain(new URL(chainless.service.rpcUrl).port);
  });
});

describe('public verification after a rollback of the chain', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
  });
  afterAll(() => service.close());

  it('does not verify what the chain no longer holds', async () => {
    const robot = await service.makeRobot(await service.signIn());
    const completed = await service.complete(robot, await service.claim(robot));
    const receipt = completed.body.verification;
    const head = (await service.rpc('eth_blockNumber')) as string;
    const depth = Number(BigInt(head) - BigInt(receipt.block_number)) + 1;
    await service.rpc('anvil_rollback', [depth]);

    const reply = await service.call('GET', `/api/v1/verify/${receipt.proof_hash}`);

    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      verified: false,
      task: { status: 'verified' },
      anchor: { tx_hash: receipt.tx_hash, on_chain_payload_found: false, confirmations: null },
    });
  });
});
