import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashProof } from '../../../src/proof/hash.ts';
import {
  newEvidence,
  startServiceWithRobot,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

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

  it('is unconfirmed at its time-out, then in progress, and finally verified', async () => {
    const evidence = newEvidence();
    const taskId = await service.claim(robot);

    const sent = await service.complete(robot, taskId, evidence);
    const again = await service.complete(robot, taskId, evidence);
    const waiting = await readTask(service, robot, taskId);
    await service.rpc('evm_mine');
    await waitFor('the anchor', async () => {
      const { body } = await readTask(service, robot, taskId);
      return body.task.status === 'verified';
    });
    const afterwards = await service.complete(robot, taskId, evidence);

    const proof_hash = hashProof(evidence);
    expect(sent.status).toBe(202);
    expect(sent.body).toEqual({
      status: 'pending',
      error: 'anchor_unconfirmed',
      message: expect.stringContaining(`GET /api/v1/tasks/${taskId}`),
      proof_hash,
      tx_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      explorer_url: `https://explorer.test/tx/${sent.body.tx_hash}`,
      promise: expect.any(String),
    });
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({ error: 'completion_in_progress', proof_hash });
    expect(waiting.body).toMatchObject({
      task: { status: 'claimed' },
      anchor: { state: 'submitted', tx_hash: sent.body.tx_hash, attempts: 1 },
      verification: null,
    });
    expect(afterwards.body).toMatchObject({
      error: 'already_completed',
      message: expect.stringContaining('already has this evidence'),
      verification: { tx_hash: sent.body.tx_hash },
    });
  });
});

describe('completing while the anchor cannot be sent', () => {
  let service: TestService;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, robot } = await startServiceWithRobot({
      chain: 'mining',
      settings: { anchorTimeoutMs: 600_000 },
    }));
    await service.endChain();
    await waitFor('a status without a node', async () => {
      return (await service.store.getChainStatus())?.isStopped;
    });
  });
  afterAll(() => service.close());

  it('is queued immediately, and then in progress', async () => {
    const evidence = newEvidence();
    const taskId = await service.claim(robot);

    const queued = await service.complete(robot, taskId, evidence);
    const again = await service.complete(robot, taskId, evidence);

    const proof_hash = hashProof(evidence);
    const task = await readTask(service, robot, taskId);
    expect(queued.status).toBe(202);
    expect(queued.body).toEqual({
      status: 'pending',
      error: 'anchor_queued',
      message: expect.stringContaining(taskId),
      proof_hash,
      tx_hash: null,
      explorer_url: null,
      promise: expect.any(String),
    });
    expect(again.body).toMatchObject({ error: 'completion_in_progress', proof_hash });
    expect(task.body.anchor).toMatchObject({
      state: 'queued',
      tx_hash: null,
      explorer_url: null,
      attempts: 0,
    });
  });
});

function readTask(service: TestService, robot: TestRobot, taskId: string) {
  return service.call('GET', `/api/v1/tasks/${taskId}`, { apiKey: robot.apiKey });
}
