import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';

describe('GET /api/v1/tasks', () => {
  let service: TestService;
  let owner: Owner;
  let arm: TestRobot;
  let cart: TestRobot;
  const claimed: string[] = [];
  let verified: string;
  beforeAll(async () => {
    service = await startTestService({ chain: 'mining' });
    owner = await service.signIn();
    arm = await service.makeRobot(owner);
    cart = await service.makeRobot(owner, 'cart');
    verified = await service.claim(arm, { title: 'Sort', expected_result: { parcels: 12 } });
    await service.complete(arm, verified);
    for (let i = 0; i < 5; i += 1) claimed.push(await service.claim(i % 2 === 0 ? arm : cart));
  });
  afterAll(() => service.close());

  const list = (query = '', { session } = owner) =>
    service.call('GET', `/api/v1/tasks${query}`, { session });
  const idsOf = (reply: Awaited<ReturnType<typeof list>>) =>
    reply.body.items.map(({ id }: { id: string }) => id);

  it('returns the tasks of all robots of the account', async () => {
    const reply = await list();

    expect(reply.status).toBe(200);
    expect(idsOf(reply).toSorted()).toEqual([verified, ...claimed].toSorted());
    const times = reply.body.items.map(({ created_at }: { created_at: string }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(reply.body.next_cursor).toBeNull();
  });

  it('returns each as on claim, with its robot and the state of its anchor', async () => {
    const { body } = await service.call('GET', `/api/v1/tasks/${verified}`, owner);

    const reply = await list('?status=verified');

    const { expected_result: _, ...task } = body.task;
    expect(reply.body.items).toEqual([{ ...task, anchor: body.anchor }]);
  });

  it('filters by status and robot', async () => {
    const ofArm = claimed.filter((_, i) => i % 2 === 0);

    expect(idsOf(await list('?status=claimed')).toSorted()).toEqual(claimed.toSorted());
    expect(idsOf(await list(`?robot_id=${arm.id}&status=claimed`)).toSorted()).toEqual(
      ofArm.toSorted(),
    );
    expect(idsOf(await list(`?robot_id=${cart.id}&status=verified`))).toEqual([]);
  });

  it('searches titles, and the beginnings of ids and hashes', async () => {
    const { anchor } = (await service.call('GET', `/api/v1/tasks/${verified}`, owner)).body;
    const found = async (search: string) =>
      idsOf(await list(`?search=${encodeURIComponent(search)}`));

    expect(await found('PARCEL')).toHaveLength(5);
    for (const search of ['sort', verified, anchor.proof_hash.toUpperCase(), anchor.tx_hash]) {
      expect(await found(search)).toContain(verified);
    }
    expect(await found('no such task')).toEqual([]);
  });

  it('lists all of them in pages, each once', async () => {
    const whole = idsOf(await list());

    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const reply = await list(`?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...idsOf(reply));
      cursor = reply.body.next_cursor;
    }

    expect(seen).toEqual(whole);
  });

  it('shows nothing of another account', async () => {
    const stranger = await service.signIn();

    expect((await list('', stranger)).body.items).toEqual([]);
    const foreign = await list(`?robot_id=${arm.id}`, stranger);
    expect([foreign.status, foreign.body.error]).toEqual([404, 'not_found']);
  });

  it('names the values that status accepts', async () => {
    const { body } = await list('?status=done');

    expect(body.message).toBe('status must be claimed or verified.');
  });

  it.each(['status=done', 'robot_id=x', 'limit=0', 'limit=201', 'cursor=x', 'cursor=', 'page=2'])(
    'refuses ?%s',
    async (query) => {
      const reply = await list(`?${query}`);

      expect([reply.status, reply.body.error]).toEqual([400, 'invalid_request']);
    },
  );
});
