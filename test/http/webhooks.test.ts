import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
  vi,
} from 'vitest';
import { createSender, startRelay } from '../../src/server/core/webhooks/webhook-relay.ts';
import { createMetrics } from '../../src/server/metrics/metrics.ts';
import { connectionRule } from '../../src/server/rules/webhooks.ts';
import { localhostCertificate as certificate } from '../support/certificate.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  grant,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { type ReceivedMessage, startReceiver } from '../support/webhook-receiver.ts';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

describe('webhooks', () => {
  const key = randomBytes(32);
  const mayConnect = connectionRule(['127.0.0.1']);
  let clock: TestClock;
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  let relay: ReturnType<typeof startRelay>;
  let metrics: ReturnType<typeof createMetrics>;
  let status: number;
  let interim: number;
  /** What happens between a message and its response. */
  let meanwhile: () => Promise<unknown>;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  beforeAll(async () => {
    clock = createTestClock();
    service = await startTestService({ clock, webhooks: { key, ruleOf: () => mayConnect } });
    const sender = createSender({ mayConnect, ca: certificate.cert });
    metrics = createMetrics(clock);
    relay = startRelay({
      store: metrics.observe(service.store),
      clock,
      webhooks: { key, senderOf: () => sender },
      onError: (error) => expect.unreachable(String(error)),
      // Only turns that a test asks for.
      pollMs: DAY,
    });
  });
  beforeEach(async () => {
    ({ owner, robot } = await service.signInWithRobot());
    [status, interim, meanwhile] = [204, 0, async () => {}];
    receiver = await startReceiver(certificate, async () => {
      await meanwhile();
      return { status, interim };
    });
  });
  afterEach(async () => {
    // What a test leaves undelivered must not fail, and be counted, in the turns of the next one.
    for (const { id } of (await call('GET', 'webhooks')).body.items) {
      await call('DELETE', `webhooks/${id}`);
    }
    await receiver.close();
  });
  afterAll(async () => {
    await relay.stop();
    await service.close();
  });

  const call = (method: string, path: string, body?: object, { session } = owner) =>
    service.call(method, `/api/v1/${path}`, { session, ...(body && { body }) });
  const create = async (events = ['event.created'], url = receiver.url) =>
    (await call('POST', 'webhooks', { url, events })).body;
  const report = (message = 'gripper jammed') =>
    service.call('POST', '/api/v1/events', {
      apiKey: robot.apiKey,
      body: { event_type: 'fault', severity: 'error', message },
    });
  const deliveries = async (id: string) =>
    (await call('GET', `webhooks/${id}/deliveries`)).body.items;
  const shown = async (id: string) =>
    (await call('GET', 'webhooks')).body.items.find((one: { id: string }) => one.id === id);
  /** With the verifier's clock, which accepts 5 minutes of difference, at the time of the test. */
  const verify = (secret: string, { body, headers }: ReceivedMessage) => {
    vi.setSystemTime(clock.now());
    try {
      return new Webhook(secret).verify(body, headers);
    } finally {
      vi.useRealTimers();
    }
  };

  it('deliver facts, signed as Standard Webhooks define it', async () => {
    const { webhook, secret } = await create();
    const { body } = await report();
    await relay.turn();

    expect(receiver.received).toHaveLength(1);
    const [message] = receiver.received as [ReceivedMessage];
    expect(verify(secret, message)).toEqual({
      type: 'event.created',
      number: 1,
      timestamp: new Date(clock.now()).toISOString(),
      data: {
        id: body.event.id,
        robot_id: robot.id,
        event_type: 'fault',
        severity: 'error',
        message: 'gripper jammed',
      },
    });
    expect(() => verify(`whsec_${'A'.repeat(43)}=`, message)).toThrow();
    expect(await deliveries(webhook.id)).toMatchObject([
      { id: message.id, type: 'event.created', state: 'delivered', attempts: 1, last_status: 204 },
    ]);
  });

  it('are counted by outcome in the metrics, with the age of the oldest message', async () => {
    const valueIn = async (name: string) => {
      const { text } = await metrics.read(async () => ({ degraded: [] }));
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${name} `))
          ?.slice(name.length),
      );
    };
    const delivered = 'svc_webhook_attempts_total{outcome="delivered"}';
    const failed = 'svc_webhook_attempts_total{outcome="failed"}';
    await create();
    await report();
    status = 500;
    const before = [(await valueIn(delivered)) || 0, (await valueIn(failed)) || 0] as const;
    await relay.turn();
    clock.advance(5_000);
    status = 200;
    await relay.turn();

    const after = [await valueIn(delivered), await valueIn(failed)];
    expect(after).toEqual([before[0] + 1, before[1] + 1]);
  });

  it('get only the types that they subscribe to, of their own account', async () => {
    await create(['task.failed']);
    const other = await service.signInWithRobot();
    await call('POST', 'webhooks', { url: receiver.url, events: ['event.created'] }, other.owner);
    await report();
    await relay.turn();

    expect(receiver.received).toEqual([]);
  });

  it('get their messages in order, again under the same id after a failure', async () => {
    await create();
    for (const message of ['one', 'two', 'three']) {
      await report(message);
      clock.advance(1);
    }
    status = 500;
    await relay.turn();
    status = 200;
    await relay.turn();
    expect(receiver.received.map(({ data }) => data.message)).toEqual(['one']);

    clock.advance(5_000);
    await relay.turn();
    const sent = receiver.received.map(({ data }) => data.message);
    expect(sent).toEqual(['one', 'one', 'two', 'three']);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(3);
  });

  it('are disabled after 3 days of failures, and drop waiting messages', async () => {
    const { webhook } = await create();
    await report();
    status = 503;
    for (const pause of [0, 5_000, 30_000]) {
      clock.advance(pause);
      await relay.turn();
    }
    expect(receiver.received).toHaveLength(3);
    clock.advance(3 * DAY);
    for (let failures = 3; failures < 19; failures += 1) {
      await relay.turn();
      expect(await shown(webhook.id)).toMatchObject({ disabled_at: null });
      clock.advance(4 * 3_600_000);
    }
    await relay.turn();

    expect(await shown(webhook.id)).toMatchObject({ disabled_for: 'failures' });
    expect(await deliveries(webhook.id)).toMatchObject([
      { state: 'abandoned', attempts: 20, last_status: 503, last_error: 'status 503' },
    ]);
    await report();
    await relay.turn();
    expect(receiver.received).toHaveLength(20);
  });

  it('continue when they are enabled again, without the dropped messages', async () => {
    const { webhook } = await create();
    await report('before');
    await call('PATCH', `webhooks/${webhook.id}`, { enabled: false });
    await report('meanwhile');
    const { body } = await call('PATCH', `webhooks/${webhook.id}`, { enabled: true });
    await report('after');
    await relay.turn();

    expect(body.webhook).toMatchObject({ disabled_at: null, disabled_for: null });
    expect(receiver.received.map(({ data }) => data.message)).toEqual(['after']);
  });

  it.each([
    { change: 'it is disabled', method: 'PATCH', body: { enabled: false } },
    { change: 'its URL changes', method: 'PATCH', body: { url: 'https://127.0.0.1:9/new' } },
    { change: 'it is deleted', method: 'DELETE', body: undefined },
  ])('receive no message at the old URL once $change', async ({ method, body }) => {
    const { webhook } = await create();
    for (const message of ['one', 'two', 'three']) await report(message);
    meanwhile = () => call(method, `webhooks/${webhook.id}`, body);
    await relay.turn();

    expect(receiver.received.map(({ data }) => data.message)).toEqual(['one']);
  });

  it.each([
    { interim: 16, state: 'delivered', last_error: null },
    { interim: 17, state: 'pending', last_error: 'too many interim responses' },
  ])('wait through $interim interim responses: $state', async (given) => {
    const { webhook } = await create();
    await report();
    interim = given.interim;
    await relay.turn();

    const { state, last_error } = given;
    expect(await deliveries(webhook.id)).toMatchObject([{ state, last_error }]);
  });

  it('send a test message, and any message again with its id', async () => {
    const { webhook, secret } = await create(['task.failed']);
    const { body } = await call('POST', `webhooks/${webhook.id}/test`);
    await relay.turn();
    const replayed = await call('POST', `webhook-deliveries/${body.delivery.id}/replay`);
    await relay.turn();

    expect(replayed.body).toEqual({ replayed: true });
    const ids = receiver.received.map(({ id }) => id);
    expect(ids).toEqual([body.delivery.id, body.delivery.id]);
    expect(verify(secret, receiver.received[1] as ReceivedMessage)).toMatchObject({ type: 'test' });
  });

  it('accept the old secret for 24 hours after a rotation', async () => {
    const { webhook, secret: old } = await create();
    const { secret } = (await call('POST', `webhooks/${webhook.id}/rotate-secret`)).body;
    await report();
    await relay.turn();
    const [first] = receiver.received as [ReceivedMessage];
    for (const one of [old, secret]) expect(verify(one, first)).toBeDefined();

    clock.advance(DAY);
    await report();
    await relay.turn();
    expect(receiver.received[1]?.headers['webhook-signature']).toMatch(/^v1,\S+$/);
  });

  it('get messages again after one rotation if the key was lost', async () => {
    const { webhook } = await create();
    const lost = Buffer.from(key);
    key.set(randomBytes(key.length));
    onTestFinished(() => void key.set(lost));
    await report();
    await relay.turn();
    expect(receiver.received).toEqual([]);

    const { secret } = (await call('POST', `webhooks/${webhook.id}/rotate-secret`)).body;
    clock.advance(HOUR);
    await relay.turn();
    expect(verify(secret, receiver.received[0] as ReceivedMessage)).toBeDefined();
  });

  it('show their secret once, and never in a list, log or database row', async () => {
    const { webhook, secret } = await create();
    const lists = await Promise.all(
      ['webhooks', 'audit-log', `webhooks/${webhook.id}/deliveries`].map((path) =>
        call('GET', path),
      ),
    );
    const stored = await service.store.listDueWebhooks(false, 100, clock.now());

    expect(JSON.stringify([lists.map(({ body }) => body), service.logLines])).not.toContain(secret);
    expect(JSON.stringify(stored)).not.toContain(secret);
    expect(lists[1]?.body.items[0]).toMatchObject({
      kind: 'webhook_created',
      target_id: webhook.id,
      detail: new URL(receiver.url).origin,
    });
  });

  it('without a grant: one webhook, and 60 attempts an hour', async () => {
    await create();
    expect((await create()).error).toBe('webhook_limit_reached');
    clock.advance(HOUR - (clock.now() % HOUR));
    for (let i = 0; i < 62; i += 1) await report(`number ${i}`);
    for (let i = 0; i < 5; i += 1) await relay.turn();
    expect(receiver.received).toHaveLength(60);

    clock.advance(HOUR);
    await relay.turn();
    expect(receiver.received).toHaveLength(62);
  });

  it('with a recent grant: 10 webhooks, and no limit of attempts', async () => {
    await grant(service.store, owner.wallet, 1, 1n);
    for (let i = 0; i < 9; i += 1) await create(['task.failed']);
    await create();
    expect((await create()).error).toBe('webhook_limit_reached');
    for (let i = 0; i < 70; i += 1) await report();
    for (let i = 0; i < 5; i += 1) await relay.turn();

    expect(receiver.received).toHaveLength(70);
  });

  it('are off without a key, and report it', async () => {
    const off = await startTestService({ clock });
    const { session } = await off.signIn();
    const body = { url: 'https://ops.example.org', events: ['task.failed'] };
    const reply = await off.call('POST', '/api/v1/webhooks', { session, body });
    await off.close();

    expect([reply.status, reply.body.error]).toEqual([409, 'webhooks_off']);
  });

  it('never follow a redirect', async () => {
    const target = await startReceiver(certificate);
    const redirecting = await startReceiver(certificate, () => ({
      status: 307,
      location: target.url,
    }));
    const { webhook } = await create(['event.created'], redirecting.url);
    await report();
    await relay.turn();
    await Promise.all([target.close(), redirecting.close()]);

    expect([redirecting.received.length, target.received.length]).toEqual([1, 0]);
    expect(await deliveries(webhook.id)).toMatchObject([{ state: 'pending', last_status: 307 }]);
  });

  it('send nothing over a connection to an address that they may not reach', async () => {
    let checks = 0;
    const sender = createSender({
      // The resolved address passes. The address of the connection does not.
      mayConnect: () => {
        checks += 1;
        return checks === 1;
      },
      ca: certificate.cert,
      resolve: async () => ['127.0.0.1'],
    });
    const sent = sender.post(receiver.url.replace('127.0.0.1', 'localhost'), {}, '{}');

    await expect(sent).rejects.toThrow('not public');
    expect(receiver.received).toEqual([]);
  });

  it('try again after an upgrade, and after a refused connection', async () => {
    const { webhook } = await create();
    await report();
    status = 101;
    await relay.turn();
    expect(await deliveries(webhook.id)).toMatchObject([{ state: 'pending', attempts: 1 }]);

    await receiver.close();
    clock.advance(5_000);
    await relay.turn();
    expect(await deliveries(webhook.id)).toMatchObject([{ state: 'pending', attempts: 2 }]);
    receiver = await startReceiver(certificate, () => 204, receiver.port);
    clock.advance(30_000);
    await relay.turn();
    expect(await deliveries(webhook.id)).toMatchObject([{ state: 'delivered', attempts: 3 }]);
  });
});
