import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import {
  newEvidence,
  type Owner,
  startServiceWithRobot,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Reply } from '../support/wire.ts';

type Evidence = ReturnType<typeof newEvidence>;

/** As many as the anchorer keeps in flight; what comes later waits to be signed. */
const IN_FLIGHT = 4;

describe('deleting a robot', () => {
  let service: TestService;
  let owner: Owner;
  beforeAll(async () => {
    service = await startTestService();
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  it('removes it, its key and its tasks, whose ids stay taken', async () => {
    const robot = await service.makeRobot(owner);
    const sibling = await service.makeRobot(owner, 'arm-2');
    const id = await service.claim(robot);
    const kept = await service.claim(sibling);

    const reply = await remove(service, owner, robot);

    const bySession = { session: owner.session };
    const task = await service.call('GET', `/api/v1/tasks/${id}`, bySession);
    const again = await service.call('POST', '/api/v1/tasks', {
      apiKey: sibling.apiKey,
      body: { id, title: 'Sort the parcels' },
    });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ deleted: true });
    expect(task.body.error).toBe('not_found');
    expect(again.status).toBe(409);
    expect(again.body.error).toBe('id_conflict');
    expect((await service.call('GET', '/api/v1/robot', robot)).body.error).toBe('invalid_api_key');
    expect((await service.call('GET', `/api/v1/robots/${robot.id}`, bySession)).status).toBe(404);
    expect((await service.call('GET', `/api/v1/tasks/${kept}`, bySession)).status).toBe(200);
    expect((await remove(service, owner, robot)).status).toBe(404);
  });
});

describe('deleting a robot with anchors in flight', () => {
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    ({ service, owner, robot } = await startServiceWithRobot({ chain: 'manual' }));
  });
  afterAll(() => service.close());

  const balance = async () => {
    const found = await service.store.getBalance(owner.wallet);
    if (found === null) throw new Error('The account is gone');
    return found;
  };
  const anchorOf = async (taskId: string) => {
    const { apiKey } = robot;
    return (await service.call('GET', `/api/v1/tasks/${taskId}`, { apiKey })).body.anchor;
  };
  const verify = (proof: Evidence) => service.call('GET', `/api/v1/verify/${hashProof(proof)}`);

  interface Started {
    taskId: string;
    proof: Evidence;
    reply: Promise<Reply>;
  }

  /** A completion whose request waits. */
  async function start(): Promise<Started> {
    const taskId = await service.claim(robot);
    const proof = newEvidence();
    return { taskId, proof, reply: service.complete(robot, taskId, proof) };
  }

  async function startSigned(): Promise<Started> {
    const started = await start();
    await waitFor('the transaction', async () => (await anchorOf(started.taskId))?.tx_hash);
    return started;
  }

  it('anchors and settles what was accepted before, and shows nothing of it', async () => {
    const before = await balance();
    const signed: Started[] = [];
    while (signed.length < IN_FLIGHT) signed.push(await startSigned());
    const queued = [await start(), await start()];
    for (const { taskId } of queued) {
      await waitFor('the queue', async () => (await anchorOf(taskId))?.state === 'queued');
    }
    const all = [...signed, ...queued];

    const deleted = await remove(service, owner, robot);

    const held = await balance();
    const replies = await Promise.all(all.map(({ reply }) => reply));
    const found = await Promise.all(all.map(({ proof }) => verify(proof)));
    const invariants = await service.store.checkInvariants();
    expect(deleted.body).toEqual({ deleted: true });
    expect(replies.map(({ status }) => status)).toEqual(all.map(() => 404));
    expect(replies[0]?.body.error).toBe('not_found');
    expect(found.map(({ status }) => status)).toEqual(all.map(() => 404));
    expect(held.anchorQuota).toBe(before.anchorQuota - all.length);
    expect(invariants).toEqual([]);

    await waitFor('the settlement of every anchor', async () => {
      await service.rpc('evm_mine');
      const { queued, submitted } = await service.store.readBacklog();
      return queued + submitted === 0;
    });

    const settled = await balance();
    const after = await Promise.all(all.map(({ proof }) => verify(proof)));
    expect(settled.anchorQuota).toBe(before.anchorQuota - all.length);
    // The reservations covered more than the cost.
    expect(settled.gasCreditWei).toBeGreaterThan(held.gasCreditWei);
    expect(after.map(({ status }) => status)).toEqual(all.map(() => 404));
    expect(await service.store.checkInvariants()).toEqual([]);
  });

  it('keeps the anchors of other robots, and hides its verified proofs from the public', async () => {
    const sibling = await service.makeRobot(owner, 'arm-2');
    const taskId = await service.claim(sibling);
    const proof = newEvidence();
    const completing = service.complete(sibling, taskId, proof);
    const read = (rest = '') => {
      return service.call('GET', `/api/v1/tasks/${taskId}${rest}`, { session: owner.session });
    };
    await waitFor('the anchor', async () => {
      await service.rpc('evm_mine');
      return (await read()).body.task.status === 'verified';
    });
    const completed = await completing;
    const known = await verify(proof);

    await remove(service, owner, sibling);

    expect(completed.status).toBe(200);
    expect(known.body.verified).toBe(true);
    expect((await verify(proof)).status).toBe(404);
    expect((await read()).status).toBe(404);
    expect((await read('/bundle')).status).toBe(404);
    expect(await service.store.checkInvariants()).toEqual([]);
  });
});

function remove(service: TestService, owner: Owner, robot: TestRobot): Promise<Reply> {
  return service.call('DELETE', `/api/v1/robots/${robot.id}`, { session: owner.session });
}

/** What the chain says that a transaction cost, in wei. */
