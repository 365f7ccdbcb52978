import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import { createTestClock } from '../support/clock.ts';
import { type Owner, startTestService, type TestService } from '../support/service.ts';

const clock = createTestClock();
let service: TestService;
let owner: Owner;
beforeAll(async () => {
  service = await startTestService({ clock });
});
afterAll(() => service.close());
beforeEach(async () => {
  owner = await service.signIn();
});

const exportWith = (body: object, by: object = { session: owner.session }) =>
  service.call('POST', '/api/v1/me/export', { body, ...by });

async function audited(): Promise<string[]> {
  const entries = await service.store.listAuditLog(owner.wallet, 100, null);
  return entries.map(({ kind }) => kind);
}

describe('an account that its owner exports', () => {
  it('returns its records as JSON lines, and records the export in its audit log', async () => {
    const robot = await service.makeRobot(owner, 'arm-7');
    const { status, body } = await exportWith(await service.signAgain(owner, 'export_account'));

    expect(status).toBe(200);
    expect(body[0]).toMatchObject({ kind: 'account', record: { wallet: owner.wallet } });
    expect(body).toContainEqual({
      kind: 'robot',
      record: expect.objectContaining({ id: robot.id }),
    });
    const [entry] = await service.store.listAuditLog(owner.wallet, 1, null);
    expect(entry).toMatchObject({ kind: 'account_exported', actor: 'session', count: 1 });
  });

  it.each<[string, () => Promise<object>]>([
    ['for a sign-in', () => service.signAgain(owner)],
    ['for a deletion', () => service.signAgain(owner, 'delete_account')],
    ['of another wallet', async () => service.signAgain(await service.signIn(), 'export_account')],
    [
      'that was used before',
      async () => {
        const signed = await service.signAgain(owner, 'export_account');
        await exportWith(signed);
        return signed;
      },
    ],
    [
      'that has expired',
      async () => {
        const signed = await service.signAgain(owner, 'export_account');
        clock.advance(limits.challengeLifetimeMs);
        return signed;
      },
    ],
  ])('is not exported with a signature %s', async (_, sign) => {
    const signed = await sign();
    const exportsBefore = (await audited()).filter((kind) => kind === 'account_exported');
    const { status, body } = await exportWith(signed);

    expect([status, body.error]).toEqual([401, 'invalid_signature']);
    expect(body.message).toContain('Request a new challenge.');
    const exports = (await audited()).filter((kind) => kind === 'account_exported');
    expect(exports).toEqual(exportsBefore);
  });

  it('is exported once with a signature that is sent several times at once', async () => {
    const signed = await service.signAgain(owner, 'export_account');
    const replies = await Promise.all(Array.from({ length: 4 }, () => exportWith(signed)));

    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  });

  it('is not exported without a signature', async () => {
    expect((await exportWith({})).body.error).toBe('invalid_request');
  });

  it('is not exported with an account token', async () => {
    const body = { name: 'ci', scope: 'write' };
    const { session } = owner;
    const { secret } = (await service.call('POST', '/api/v1/tokens', { session, body })).body;
    const signed = await service.signAgain(owner, 'export_account');

    const reply = await exportWith(signed, { apiKey: secret });
    expect([reply.status, reply.body.error]).toEqual([403, 'insufficient_scope']);
  });

  it('cannot be signed in to with the signature that exports it', async () => {
    const { address } = owner.account;
    const body = { address, ...(await service.signAgain(owner, 'export_account')) };

    const reply = await service.call('POST', '/api/auth/verify', { body });
    expect(reply.body.error).toBe('invalid_signature');
  });

  it('is exported while the operator suspends it', async () => {
    const by = { actor: 'operator', actor_name: null, source: null, at: clock.now() } as const;
    await service.store.suspendAccount(owner.wallet, true, by, null);

    const { status } = await exportWith(await service.signAgain(owner, 'export_account'));
    expect(status).toBe(200);
  });

  it('closes the connection if the export fails midway, and does not record it in its audit log', async () => {
    await service.makeRobot(owner);
    const signed = await service.signAgain(owner, 'export_account');
    const { listTasks } = service.store;
    service.store.listTasks = () => Promise.reject(new Error('disk failure'));
    try {
      await expect(exportWith(signed)).rejects.toThrow();
    } finally {
      service.store.listTasks = listTasks;
    }

    expect(await audited()).not.toContain('account_exported');
  });

  it('does not record an export whose caller disconnected', async () => {
    const signed = await service.signAgain(owner, 'export_account');
    const { listTasks } = service.store;
    let ended = () => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    service.store.listTasks = async (...query) => {
      service.store.listTasks = listTasks;
      await end;
      return listTasks(...query);
    };
    const connected = once(service.app.server, 'connection');
    const call = request(`${service.url}/api/v1/me/export`, {
      method: 'POST',
      agent: false,
      headers: { cookie: `svc_session=${owner.session}`, 'content-type': 'application/json' },
    });
    call.end(JSON.stringify(signed));
    const [[connection], [answer]] = await Promise.all([connected, once(call, 'response')]);
    const closed = once(connection, 'close');
    answer.destroy();
    await closed;
    ended();
    await exportWith(await service.signAgain(owner, 'export_account'));

    const exported = (await audited()).filter((kind) => kind === 'account_exported');
    expect(exported).toHaveLength(1);
  });
});
