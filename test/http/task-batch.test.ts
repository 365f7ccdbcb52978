import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { hashProof } from '../../src/proof/hash.ts';
import { readPromise } from '../../src/proof/statements/promise.ts';
import { limits } from '../../src/protocol/limits.ts';
import { letCompletionsIn } from '../support/fee-quote.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const claim = { title: 'Sort the parcels' };

let service: TestService;
let owner: Owner;
let robot: TestRobot;
beforeAll(async () => {
  service = await startTestService({ chain: 'mining' });
  await waitFor('the account', async () => (await service.store.listAnchoringAccounts()).length);
});
beforeEach(async () => {
  owner = await service.signIn();
  robot = await service.makeRobot(owner);
});
afterAll(() => service.close());

const send = (items: unknown[], query = '') =>
  service.call('POST', `/api/v1/tasks/batch${query}`, { apiKey: robot.apiKey, body: { items } });
const statuses = ({ body }: Awaited<ReturnType<typeof send>>) =>
  body.items.map(({ status }: { status: number }) => status);
const newItem = () => ({ id: randomUUID(), claim, completion: { proof: newEvidence() } });

describe('POST /api/v1/tasks/batch', () => {
  it('claims and completes, and answers each item in the order of the request', async () => {
    const items = [newItem(), { id: randomUUID(), claim }, newItem()];

    const reply = await send(items);

    const [both, claimed] = reply.body.items;
    expect([reply.status, statuses(reply)]).toEqual([200, [200, 201, 200]]);
    expect(both.body.task).toMatchObject({ id: items[0]?.id, title: 'Sort the parcels' });
    expect(both.body.verification).toMatchObject({ task_id: items[0]?.id, status: 'verified' });
    expect(claimed.body).toMatchObject({ task: { id: items[1]?.id }, next: expect.any(String) });
    expect(reply.body.promise).toBeUndefined();
  });

  it('runs the items of one task one after the other', async () => {
    const { id, completion } = newItem();

    const reply = await send([
      { id, claim },
      { id, completion },
      { id, completion },
    ]);

    expect(statuses(reply)).toEqual([201, 200, 409]);
    expect(reply.body.items[2].body).toMatchObject({
      error: 'already_completed',
      same_evidence: true,
    });
  });

  it('does nothing twice when it is sent again', async () => {
    const items = [newItem(), newItem()];
    await send(items);
    const before = await service.store.getBalance(owner.wallet);

    const again = await send(items);

    expect(statuses(again)).toEqual([409, 409]);
    expect(again.body.items[0].body.task.id).toBe(items[0]?.id);
    expect(await service.store.getBalance(owner.wallet)).toEqual(before);
  });

  it('does not wait with wait=0, and promises all leaves at once', async () => {
    const items = [newItem(), newItem()];

    const reply = await send(items, '?wait=0');

    const { leaves } = readPromise(reply.body.promise).promise;
    expect(statuses(reply)).toEqual([202, 202]);
    expect(leaves.map((leaf) => leaf.task_id).toSorted()).toEqual(
      items.map(({ id }) => id).toSorted(),
    );
    const [{ body }] = reply.body.items;
    expect(body).toMatchObject({ proof_hash: hashProof(items[0]?.completion.proof ?? {}) });
    expect(body.promise).toBeUndefined();
  });

  it('refuses a bad item by itself', async () => {
    const unknown = { id: randomUUID(), claim: { title: 'Sort', colour: 'red' } };

    const reply = await send([newItem(), unknown, { id: randomUUID() }, newItem()]);

    expect(statuses(reply)).toEqual([200, 400, 400, 200]);
    expect(reply.body.items[1].body).toEqual({
      error: 'invalid_request',
      message: 'claim.colour is not a known field.',
    });
  });

  it('skips the completion of a claim that is refused', async () => {
    const { id, completion } = newItem();
    await send([{ id, claim }]);

    const reply = await send([{ id, claim: { title: 'Another' }, completion }]);

    const { body } = await service.call('GET', `/api/v1/tasks/${id}`, { session: owner.session });
    expect(reply.body.items).toMatchObject([{ status: 409, body: { error: 'id_conflict' } }]);
    expect(body.anchor).toBeNull();
  });

  it('tries the items after one that lacks credit', async () => {
    const { signup } = service.settings;
    service.settings.signup = { ...signup, anchors: 0 };
    robot = await service.makeRobot(await service.signIn());
    service.settings.signup = signup;

    const reply = await send([newItem(), { id: randomUUID(), claim }]);

    expect(statuses(reply)).toEqual([402, 201]);
    expect(reply.body.items[0].body).toMatchObject({
      error: 'no_anchor_quota',
      task: { status: 'claimed' },
    });
  });

  it('does nothing if the items are not a list of 1 to 50', async () => {
    const id = randomUUID();
    const tooMany = [{ id, claim }, ...Array.from({ length: limits.batchItems }, newItem)];

    const replies = [await send(tooMany), await send([])];

    expect(replies.map(({ status }) => status)).toEqual([400, 400]);
    const task = await service.call('GET', `/api/v1/tasks/${id}`, { session: owner.session });
    expect(task.status).toBe(404);
  });

  it('refuses a body that is no JSON of one reading', async () => {
    const reply = await service.call('POST', '/api/v1/tasks/batch', {
      ...{ apiKey: robot.apiKey, raw: '{"items":[],"items":[]}' },
      headers: { 'content-type': 'application/json' },
    });

    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_request']);
  });

  it('does nothing if the body is above 2 MiB', async () => {
    const id = randomUUID();
    const large = { id: randomUUID(), completion: { proof: { log: 'x'.repeat(2 * 1024 * 1024) } } };

    const reply = await send([{ id, claim }, large]);

    expect([reply.status, reply.body.error]).toEqual([413, 'payload_too_large']);
    const task = await service.call('GET', `/api/v1/tasks/${id}`, { session: owner.session });
    expect(task.status).toBe(404);
  });

  it('counts the items of a minute, and refuses a batch that exceeds the limit as a whole', async () => {
    // The clock of this machine, which is the service's too.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const full = Array.from({ length: limits.batchItems }, () => ({ id: randomUUID() }));
    const batches = limits.batchItemsPerWindow / limits.batchItems;
    for (let i = 1; i < batches; i += 1) await send(full);
    const most = full.slice(1);

    const all = [await send(most), await send([full[0], { id: randomUUID(), claim }])];
    const last = await send([{ id: randomUUID(), claim }]);

    expect(all.map(({ status }) => status)).toEqual([200, 429]);
    expect(all[1]?.body).toMatchObject({ error: 'rate_limited', retry_after: expect.any(Number) });
    expect(last.status).toBe(200);
  });
});

describe('a batch without a chain', () => {
  let unready: TestService;
  let apiKey: string;
  beforeAll(async () => {
    unready = await startTestService();
    ({ apiKey } = await unready.makeRobot(await unready.signIn()));
  });
  afterAll(() => unready.close());

  const sendTo = (items: unknown[]) =>
    unready.call('POST', '/api/v1/tasks/batch?wait=0', { apiKey, body: { items } });

  it('says when to try an item again, and reports one that is being anchored', async () => {
    const items = [newItem()];

    const early = await sendTo(items);
    await letCompletionsIn(unready.store);
    const queued = await sendTo(items);
    const repeated = await sendTo(items);

    expect(early.body.items).toMatchObject([
      { status: 503, body: { error: 'chain_unavailable' }, retry_after_ms: 5_000 },
    ]);
    expect(queued.body.items).toMatchObject([{ status: 202, body: { error: 'anchor_queued' } }]);
    expect(repeated.body.items).toMatchObject([
      { status: 409, body: { error: 'completion_in_progress', same_evidence: true } },
    ]);
  });
});
