import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { continueDeletions, deleteAccount, operator } from '../../src/server/core/account.ts';
import {
  newEvidence,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

let service: TestService;
let owner: Owner;
let robot: TestRobot;
let taskId: string;
beforeAll(async () => {
  const webhooks = { key: Buffer.alloc(32), ruleOf: () => () => true };
  service = await startTestService({ chain: 'mining', webhooks });
});
afterAll(() => service.close());
beforeEach(async () => {
  ({ owner, robot } = await service.signInWithRobot());
  taskId = await service.claim(robot);
  await service.complete(robot, taskId, newEvidence());
  const post = (target: string, body: object, by: object) =>
    service.call('POST', target, { body, ...by });
  await post('/api/v1/telemetry', { battery_pct: 80 }, { apiKey: robot.apiKey });
  await post('/api/v1/events', { event_type: 'bump' }, { apiKey: robot.apiKey });
  const { session } = owner;
  await post('/api/v1/fleets', { name: 'North' }, { session });
  await post('/api/v1/tokens', { name: 'ci', scope: 'read' }, { session });
  await post(
    '/api/v1/webhooks',
    { url: 'https://ops.example.org', events: ['task.failed'] },
    { session },
  );
  await post('/api/v1/alert-rules', { kind: 'battery_low', threshold: 20 }, { session });
});

const signed = (purpose?: 'delete_account', of = owner) => service.signAgain(of, purpose);
const isDeleting = async () =>
  (await service.store.listDeletions()).some(({ wallet }) => wallet === owner.wallet);
const remove = (body: object) =>
  service.call('DELETE', '/api/v1/me', { session: owner.session, body });

async function kinds(of = owner): Promise<string[]> {
  const { session } = of;
  const body = await service.signAgain(of, 'export_account');
  const lines = await service.call('POST', '/api/v1/me/export', { session, body });
  return lines.body.map(({ kind }: { kind: string }) => kind);
}

describe('an account that its owner deletes', () => {
  it('loses all stored data, and keeps its credits and their ledger', async () => {
    expect(new Set(await kinds())).toEqual(
      new Set([
        ...['account', 'robot', 'sample', 'task', 'bundle', 'fleet', 'event'],
        ...['ledger_entry', 'audit_entry', 'webhook', 'alert_rule'],
      ]),
    );
    const credits = await service.call('GET', '/api/v1/me', { session: owner.session });
    const { status, body } = await remove(await signed('delete_account'));

    expect([status, body]).toEqual([200, { deleting: true }]);
    await waitFor('the end of the deletion', async () => ((await isDeleting()) ? null : true));
    const again = await service.signIn(owner.account);
    expect(new Set(await kinds(again))).toEqual(
      new Set(['account', 'ledger_entry', 'audit_entry']),
    );
    const account = await service.call('GET', '/api/v1/me', { session: again.session });
    expect(account.body.credits).toEqual(credits.body.credits);
    const stats = await service.call('GET', '/api/v1/stats', { session: again.session });
    const { samples_by_hour, events_by_hour } = stats.body;
    const counts = [...samples_by_hour, ...events_by_hour].flatMap(({ at: _, ...hour }) =>
      Object.values(hour),
    );
    expect(new Set(counts)).toEqual(new Set([0]));
    expect(await service.store.checkInvariants()).toEqual([]);
  });

  it('ends its sessions and keys before the answer', async () => {
    await remove(await signed('delete_account'));
    const calls = await Promise.all([
      service.call('GET', '/api/v1/me', { session: owner.session }),
      service.call('GET', '/api/v1/robot', { apiKey: robot.apiKey }),
    ]);

    expect(calls.map(({ body }) => body.error)).toEqual(['invalid_session', 'invalid_api_key']);
  });

  it.each([
    ['for a sign-in', () => signed()],
    ['for an export', () => service.signAgain(owner, 'export_account')],
    ['of another wallet', async () => signed('delete_account', await service.signIn())],
  ])('is not deleted with a signature %s', async (_, sign) => {
    expect((await remove(await sign())).body.error).toBe('invalid_signature');
    expect(await isDeleting()).toBe(false);
  });

  it('cannot be signed in to with the signature that deletes it', async () => {
    const body = { address: owner.account.address, ...(await signed('delete_account')) };
    const { body: answer } = await service.call('POST', '/api/auth/verify', { body });

    expect(answer.error).toBe('invalid_signature');
  });
});

describe('a deletion that a crash interrupts', () => {
  it('accepts no sign-in until retention has finished it', async () => {
    await service.store.beginDeletion(owner.wallet, operator('accounts delete'));
    const body = { address: owner.account.address, ...(await signed()) };
    const refused = await service.call('POST', '/api/auth/verify', { body });
    const { store } = service;
    const onError = (error: unknown) => expect.fail(`${error}`);
    const deps = { store, clock: { now: Date.now } };
    await continueDeletions(deps, new AbortController().signal, onError);

    expect(refused.body.error).toBe('account_suspended');
    expect(await isDeleting()).toBe(false);
    expect(await store.listRobots(owner.wallet, 1, null)).toEqual([]);
  });

  it('deletes nothing that the account creates after another instance has finished it', async () => {
    const { store } = service;
    let goOn = () => {};
    let isListed = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const listed = new Promise<void>((resolve) => {
      isListed = resolve;
    });
    const slow = {
      ...store,
      async listDeletions() {
        const found = await store.listDeletions();
        isListed();
        await held;
        return found;
      },
    };
    const clock = { now: Date.now };
    await store.beginDeletion(owner.wallet, operator('accounts delete'));
    const onError = (error: unknown) => expect.fail(`${error}`);
    const late = continueDeletions({ store: slow, clock }, new AbortController().signal, onError);
    await listed;
    await continueDeletions({ store, clock }, new AbortController().signal, onError);
    const again = await service.signIn(owner.account);
    const made = await service.makeRobot(again);
    goOn();
    await late;

    expect(await store.listRobots(owner.wallet, 2, null)).toMatchObject([{ id: made.id }]);
  });

  it('keeps a suspension by the operator', async () => {
    const { store } = service;
    const by = { actor: 'operator', actor_name: null, source: null, at: Date.now() } as const;
    await store.suspendAccount(owner.wallet, true, by, null);
    await deleteAccount({ store, clock: { now: Date.now } }, owner.wallet);
    const body = { address: owner.account.address, ...(await signed()) };

    expect((await service.call('POST', '/api/auth/verify', { body })).body.error).toBe(
      'account_suspended',
    );
  });

  it('can be repeated at any point', async () => {
    const { store } = service;
    const steps = ['deleteRobot', 'deleteFleet', 'deleteWebhook', 'endDeletion'] as const;
    for (const step of steps) {
      const failing = { ...store, [step]: () => Promise.reject(new Error('killed')) };
      const deps = { store: failing, clock: { now: Date.now } };
      await expect(deleteAccount(deps, owner.wallet)).rejects.toThrow('killed');
      expect(await isDeleting()).toBe(true);
    }
    await deleteAccount({ store, clock: { now: Date.now } }, owner.wallet);

    expect(await isDeleting()).toBe(false);
    expect(await store.checkInvariants()).toEqual([]);
  });
});
