import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { testStore } from '../../support/open-test-store.ts';
import {
  grant,
  startTestService,
  type TestRobot,
  type TestService,
} from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';

const poolBytes = 80_000;
const accountBytes = 1_000_000;

const writesOf = (service: TestService, robot: TestRobot, size: number) =>
  [
    ['/api/v1/tasks', { title: 'Sweep', expected_result: { text: 'x'.repeat(size) } }],
    ['/api/v1/telemetry', { metrics: { text: 'x'.repeat(size) } }],
    ['/api/v1/events', { event_type: 'info', payload: { text: 'x'.repeat(size) } }],
  ].map(
    ([path, body]) =>
      () =>
        service.call('POST', path as string, { apiKey: robot.apiKey, body }),
  );

/** The status of the first response to what is sent. */
async function statusOf(url: string, lines: readonly string[]): Promise<number> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  try {
    socket.write(lines.join('\r\n'));
    const [head] = await once(socket, 'data');
    return Number(/^HTTP\/1.1 (\d+)/.exec(String(head))?.[1]);
  } finally {
    socket.destroy();
  }
}

describe('storage quotas', () => {
  it('refuse writes above the share of an account without a grant, except completions', async () => {
    const service = await startTestService({
      chain: 'mining',
      storage: { poolBytes, accountBytes },
    });
    const robot = await service.makeRobot(await service.signIn());
    const taskId = await service.claim(robot);
    const [large, small] = [writesOf(service, robot, 10_001), writesOf(service, robot, 10)];

    for (const write of large) {
      const { status, body, headers } = await write();
      expect([status, body.error]).toEqual([409, 'storage_quota']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    for (const write of small) expect((await write()).status).toBe(201);
    let last = await small[0]?.();
    for (let i = 0; i < 50 && last?.status === 201; i += 1) last = await small[0]?.();
    const completed = await service.complete(robot, taskId, { text: 'x'.repeat(40_000) });

    expect(last?.body.error).toBe('storage_quota');
    expect(completed.status).toBe(200);
    await service.close();
  });

  it('refuse a large body of an account without room before it arrives', async () => {
    const service = await startTestService({ storage: { poolBytes, accountBytes } });
    const robot = await service.makeRobot(await service.signIn());
    const [, , report] = writesOf(service, robot, 10);
    while ((await report?.())?.status === 201);
    const announce = (path: string) =>
      statusOf(service.url, [
        `POST ${path} HTTP/1.1`,
        'host: localhost',
        `authorization: Bearer ${robot.apiKey}`,
        'content-type: application/json',
        'content-length: 40000',
        '',
        '{"',
      ]);

    const paths = ['/api/v1/tasks', '/api/v1/telemetry', '/api/v1/events'];
    expect(await Promise.all(paths.map(announce))).toEqual([409, 409, 409]);
    await service.close();
  });

  it('allow rotation, revocation, sign-out, deletion and sign-in of an account without room', async () => {
    const service = await startTestService({ storage: { poolBytes, accountBytes } });
    const owner = await service.signIn();
    const robot = await service.makeRobot(owner);
    const [, , report] = writesOf(service, robot, 10);
    while ((await report?.())?.status === 201);
    const { session } = owner;
    const on = (method: string, path: string) => service.call(method, path, { session });
    const key = `/api/v1/robots/${robot.id}`;
    const rename = { session, body: { name: 'Other' } };
    expect((await service.call('PATCH', key, rename)).body.error).toBe('storage_quota');

    const again = await service.signIn(owner.account);
    const answers = [
      await on('POST', `${key}/rotate-key`),
      await on('DELETE', `${key}/key`),
      await on('DELETE', key),
      await on('POST', '/api/auth/logout'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(again.session).not.toBe(owner.session);
    await service.close();
  });

  it('do not affect an account with a grant while others fill the pool', async () => {
    // An account may hold 265 bytes: a robot fits, nothing that it writes does.
    const service = await startTestService({ storage: { poolBytes: 8 * 265, accountBytes } });
    const [owner, other] = [await service.signIn(), await service.signIn()];
    await grant(service.store, owner.wallet, 1, 1n);
    const [paying, free] = [await service.makeRobot(owner), await service.makeRobot(other)];

    const refused = await Promise.all(writesOf(service, free, 10).map((write) => write()));
    const stored = await Promise.all(writesOf(service, paying, 10_001).map((write) => write()));

    expect(refused.map(({ status }) => status)).toEqual([409, 409, 409]);
    expect(stored.map(({ status }) => status)).toEqual([201, 201, 201]);
    await service.close();
  });

  it.runIf(testStore === 'sqlite')(
    'are exhausted first for accounts without a grant when the disk fills',
    async () => {
      let freeBytes = 1_000_000;
      const service = await startTestService({
        storage: { poolBytes, accountBytes },
        disk: { minFreeBytes: 1000, freeBytes: async () => freeBytes },
      });
      const [owner, other] = [await service.signIn(), await service.signIn()];
      await grant(service.store, owner.wallet, 1, 1n);
      const [paying, free] = [await service.makeRobot(owner), await service.makeRobot(other)];
      freeBytes = 1_999;
      // The disk is read once a second.
      const rename = () =>
        service.call('PATCH', `/api/v1/robots/${free.id}`, {
          session: other.session,
          body: { name: 'Other' },
        });
      await waitFor('the disk to be read', async () => (await rename()).status === 409);

      const refused = await Promise.all(writesOf(service, free, 10).map((write) => write()));
      const stored = await Promise.all(writesOf(service, paying, 10).map((write) => write()));

      expect(refused.map(({ body }) => body.error)).toEqual(Array(3).fill('storage_quota'));
      expect(stored.map(({ status }) => status)).toEqual([201, 201, 201]);
      await service.close();
    },
  );
});
