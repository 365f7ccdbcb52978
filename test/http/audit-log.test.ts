import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { operator } from '../../src/server/core/account.ts';
import { createTestClock } from '../support/clock.ts';
import {
  newEvidence,
  newWallet,
  type Owner,
  startServiceWithRobot,
  startTestService,
  type TestService,
} from '../support/service.ts';

const HOUR = 60 * 60_000;

describe('the audit log', () => {
  const clock = createTestClock();
  let service: TestService;
  let owner: Owner;
  beforeAll(async () => {
    service = await startTestService({ clock });
  });
  beforeEach(async () => {
    owner = await service.signIn();
  });
  afterAll(() => service.close());

  const log = async (query = '', { session } = owner) =>
    (await service.call('GET', `/api/v1/audit-log${query}`, { session })).body;
  const newest = async () => (await log()).items[0];
  const call = (method: string, path: string, body?: object) =>
    service.call(method, `/api/v1${path}`, {
      session: owner.session,
      ...(body && { body }),
    });
  const fail = (address: string) =>
    service.call('POST', '/api/auth/verify', {
      body: { address, signature: `0x${'00'.repeat(65)}` },
    });

  it('starts with the sign-in: actor, source and time', async () => {
    const { items } = await log();

    expect(items).toEqual([
      {
        id: expect.any(String),
        kind: 'sign_in',
        actor: 'session',
        actor_name: null,
        source: '127.0.0.1',
        target_id: expect.any(String),
        detail: 'wallet',
        count: 1,
        created_at: new Date(clock.now()).toISOString(),
      },
    ]);
    const sessions = await call('GET', '/sessions');
    expect(items[0].target_id).toBe(sessions.body.items[0].id);
  });

  it('records changes of robots, keys and fleets with their targets', async () => {
    const robot = await service.makeRobot(owner, 'arm-7');
    const target = { target_id: robot.id, detail: 'arm-7', actor: 'session' };
    expect(await newest()).toMatchObject({ kind: 'robot_created', ...target });
    await call('POST', `/robots/${robot.id}/rotate-key`);
    expect(await newest()).toMatchObject({ kind: 'key_rotated', ...target });
    await call('DELETE', `/robots/${robot.id}/key`);
    expect(await newest()).toMatchObject({ kind: 'key_revoked', ...target });
    await call('DELETE', `/robots/${robot.id}`);
    expect(await newest()).toMatchObject({ kind: 'robot_deleted', ...target });

    const { fleet } = (await call('POST', '/fleets', { name: 'North' })).body;
    const north = { target_id: fleet.id, detail: 'North', source: '127.0.0.1' };
    expect(await newest()).toMatchObject({ kind: 'fleet_created', ...north });
    await call('PATCH', `/fleets/${fleet.id}`, { shift: 'night' });
    expect(await newest()).toMatchObject({ kind: 'fleet_changed', ...north });
    await call('DELETE', `/fleets/${fleet.id}`);
    expect(await newest()).toMatchObject({
      kind: 'fleet_deleted',
      target_id: fleet.id,
      detail: 'North',
    });
  });

  it('records a new name of a robot, and its move to a fleet', async () => {
    const [first, second] = [
      await service.makeRobot(owner, 'arm-7'),
      await service.makeRobot(owner, 'arm-8'),
    ];
    await call('PATCH', `/robots/${first.id}`, { name: 'arm-9' });
    const renamed = { kind: 'robot_changed', target_id: first.id, detail: 'arm-9' };
    expect(await newest()).toMatchObject({ ...renamed, actor: 'session', source: '127.0.0.1' });
    const { fleet } = (await call('POST', '/fleets', { name: 'North' })).body;
    await call('PATCH', `/robots/${first.id}`, { fleet_id: fleet.id });
    expect(await newest()).toMatchObject(renamed);

    // The first is in the fleet already.
    const robot_ids = [first.id, second.id];
    await call('POST', '/robots/bulk', { robot_ids, fleet_id: fleet.id });

    const { items } = await log('?limit=3');
    expect(items).toMatchObject([
      { kind: 'robots_moved', target_id: fleet.id, detail: '1' },
      renamed,
      { kind: 'fleet_created' },
    ]);
  });

  it('records alert rules, and the start of a deletion', async () => {
    const rule = { kind: 'battery_low', threshold: 20 };
    for (let i = 0; i < 2; i += 1) await call('POST', '/alert-rules', rule);
    await call('DELETE', '/alert-rules/battery_low');
    const by = operator('accounts delete');
    await service.store.beginDeletion(owner.wallet, by);
    await service.store.beginDeletion(owner.wallet, { ...by, at: by.at + 1 });

    const entries = await service.store.listAuditLog(owner.wallet, 10, null);

    expect(entries).toMatchObject([
      { kind: 'account_deletion_began', actor: 'operator', actor_name: by.actor_name, at: by.at },
      { kind: 'alert_rule_deleted', actor: 'session', detail: 'battery_low' },
      { kind: 'alert_rule_changed', actor: 'session', detail: 'battery_low: 20' },
      { kind: 'sign_in' },
    ]);
  });

  it('does not record failed changes', async () => {
    const robot = await service.makeRobot(owner, 'arm-7');
    await call('PATCH', `/robots/${robot.id}`, { name: 'arm-7' });
    const { fleet } = (await call('POST', '/fleets', { name: 'North' })).body;
    const before = await log();
    await call('PATCH', `/fleets/${fleet.id}`, { name: 'North' });
    const id = crypto.randomUUID();
    for (const path of [`/robots/${id}`, `/fleets/${id}`, `/tokens/${id}`, `/sessions/${id}`]) {
      expect((await call('DELETE', path)).status).toBe(404);
    }
    expect((await call('DELETE', `/tasks/${id}/proof`)).status).toBe(404);

    expect(await log()).toEqual(before);
  });

  it('names the token that acted', async () => {
    const { token, secret } = (await call('POST', '/tokens', { name: 'ci', scope: 'write' })).body;
    expect(await newest()).toMatchObject({
      kind: 'token_created',
      target_id: token.id,
      detail: 'ci',
    });

    const body = { name: 'arm' };
    await service.call('POST', '/api/v1/robots', { apiKey: secret, body });
    expect(await newest()).toMatchObject({
      kind: 'robot_created',
      actor: 'token',
      actor_name: 'ci',
    });
    await call('DELETE', `/tokens/${token.id}`);
    expect(await newest()).toMatchObject({ kind: 'token_revoked', actor: 'session', detail: 'ci' });
  });

  it('records the ends of sessions', async () => {
    const other = await service.signIn(owner.account);
    const [{ id }] = (await call('GET', '/sessions')).body.items;
    await service.call('POST', '/api/auth/logout', { session: other.session });
    expect(await newest()).toMatchObject({ kind: 'sign_out', target_id: id });
    const third = await service.signIn(owner.account);
    const [revoked] = (await call('GET', '/sessions')).body.items;
    await call('DELETE', `/sessions/${revoked.id}`);
    expect(await newest()).toMatchObject({ kind: 'session_revoked', target_id: revoked.id });
    expect((await service.call('GET', '/api/v1/me', { session: third.session })).status).toBe(401);
  });

  it('records grants of the operator', async () => {
    const grant = { id: crypto.randomUUID(), wallet: owner.wallet, anchors: 5, gasWei: 7n };
    const by = operator('credits grant');
    await service.store.grantCredits({ ...grant, note: 'invoice 12', now: clock.now() }, by);
    await service.store.grantCredits({ ...grant, note: 'invoice 12', now: clock.now() }, by);

    expect((await log()).items.slice(0, 2)).toMatchObject([
      {
        kind: 'credits_granted',
        actor: 'operator',
        actor_name: 'svc-server credits grant',
        source: null,
        detail: '5 anchors, 7 wei: invoice 12',
      },
      { kind: 'sign_in' },
    ]);
  });

  it('counts the failed sign-ins of an hour in one entry, and only for accounts', async () => {
    const stranger = newWallet().address;
    clock.advance(HOUR - (clock.now() % HOUR));
    const hour = new Date(clock.now()).toISOString();
    for (let i = 0; i < 3; i += 1) {
      expect((await fail(owner.wallet)).body.error).toBe('invalid_signature');
      expect((await fail(stranger)).body.error).toBe('invalid_signature');
    }
    const failed = { kind: 'sign_in_failed', actor: 'unknown', source: '127.0.0.1' };
    expect(await newest()).toMatchObject({ ...failed, count: 3, created_at: hour });

    clock.advance(HOUR);
    await fail(owner.wallet);
    const { items } = await log();
    expect(items.slice(0, 2)).toMatchObject([
      { ...failed, count: 1 },
      { ...failed, count: 3 },
    ]);
    expect(await service.store.listAuditLog(stranger, 10, null)).toEqual([]);
  });

  it('records the erasure of evidence once', async () => {
    const own = await startServiceWithRobot({ chain: 'mining' });
    const { session } = own.owner;
    const taskId = await own.service.claim(own.robot);
    expect((await own.service.complete(own.robot, taskId, newEvidence())).status).toBe(200);
    const path = `/api/v1/tasks/${taskId}/proof`;
    for (let i = 0; i < 2; i += 1) {
      expect((await own.service.call('DELETE', path, { session })).status).toBe(200);
    }

    const { items } = (await own.service.call('GET', '/api/v1/audit-log', { session })).body;
    expect(items.slice(0, 2)).toMatchObject([
      { kind: 'evidence_erased', target_id: taskId },
      { kind: 'robot_created', target_id: own.robot.id },
    ]);
    await own.service.close();
  });

  it('is listed in pages, newest first', async () => {
    for (const name of ['a', 'b', 'c']) await service.makeRobot(owner, name);

    const first = await log('?limit=2');
    const second = await log(`?limit=2&cursor=${first.next_cursor}`);

    const details = [...first.items, ...second.items].map(
      ({ detail }: { detail: string }) => detail,
    );
    expect(details).toEqual(['c', 'b', 'a', 'wallet']);
    expect(second.next_cursor).toBeNull();
  });
});
