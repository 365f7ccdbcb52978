import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AlertKind } from '../../src/protocol/alerts.ts';
import type { Changes } from '../../src/server/ports/account.ts';
import { evaluateRules } from '../support/alerts.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import {
  grant,
  type Owner,
  startTestService,
  type TestRobot,
  type TestService,
} from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const MINUTE = 60_000;

describe('alerts', () => {
  let clock: TestClock;
  let service: TestService;
  let owner: Owner;
  let robot: TestRobot;
  beforeAll(async () => {
    clock = createTestClock();
    const webhooks = { key: Buffer.alloc(32), ruleOf: () => () => true };
    service = await startTestService({ clock, webhooks });
  });
  beforeEach(async () => {
    ({ owner, robot } = await service.signInWithRobot());
    // A robot counts as silent only while the service watches: from its first evaluation.
    await evaluate();
  });
  afterAll(() => service.close());

  const call = (method: string, path: string, body?: object, { session } = owner) =>
    service.call(method, `/api/v1/${path}`, { session, ...(body && { body }) });
  const byRobot = (path: string, body: object) =>
    service.call('POST', `/api/v1/${path}`, { apiKey: robot.apiKey, body });
  const rule = (kind: AlertKind, threshold: number) =>
    call('POST', 'alert-rules', { kind, threshold });
  const evaluate = () => evaluateRules({ store: service.store, clock });
  const alerts = async (query = '') => (await call('GET', `alerts${query}`)).body.items;
  /** The service runs for so long, and evaluates every minute. */
  const watch = async (minutes: number) => {
    for (let i = 0; i < minutes; i += 1) {
      clock.advance(MINUTE);
      await evaluate();
    }
  };
  const charge = (percent: number) => byRobot('telemetry', { battery_pct: percent });

  it('open once when a rule matches, and close by themselves', async () => {
    await rule('battery_low', 20);
    await charge(12);
    await evaluate();
    await Promise.all([evaluate(), evaluate()]);
    const [opened, ...others] = await alerts();
    expect(opened).toMatchObject({ kind: 'battery_low', threshold: 20, robot_id: robot.id });
    expect([opened.closed_at, others]).toEqual([null, []]);

    clock.advance(1000);
    await charge(80);
    await evaluate();
    const closed_at = new Date(clock.now()).toISOString();
    expect(await alerts()).toEqual([{ ...opened, closed_at }]);
    expect(await alerts('?open=true')).toEqual([]);
  });

  it('are sent to streams when they open and when they close', async () => {
    const seen: Changes[] = [];
    const over = new AbortController();
    service.store.watchChanges(owner.wallet, (changes) => seen.push(changes), over.signal);
    await rule('battery_low', 20);
    await waitFor('the rule', () => seen.includes(null));
    seen.length = 0;
    await charge(12);
    await evaluate();
    await waitFor('the opening', () => seen.includes(null));

    await charge(80);
    await evaluate();

    const [{ id }] = await alerts();
    await waitFor('the closing', () =>
      seen.flatMap((changes) => changes ?? []).some((one) => one.kind === 'alert' && one.id === id),
    );
    over.abort();
  });

  it('report a battery by its newest reading, whenever that arrives', async () => {
    await rule('battery_low', 20);
    await charge(80);
    const recorded_at = new Date(clock.now() - MINUTE).toISOString();
    await byRobot('telemetry', { battery_pct: 5, recorded_at });
    await evaluate();

    expect(await alerts()).toEqual([]);
  });

  it('report a silent robot, but not one that never called', async () => {
    await service.makeRobot(owner, 'never used');
    await rule('robot_offline', 5);
    await charge(80);
    await watch(4);
    expect(await alerts()).toEqual([]);
    await watch(1);
    expect(await alerts()).toMatchObject([{ kind: 'robot_offline', robot_id: robot.id }]);

    await charge(80);
    await evaluate();
    expect(await alerts('?open=true')).toEqual([]);
  });

  it('stay open over an outage of the service while the robot is offline', async () => {
    await rule('robot_offline', 5);
    await charge(80);
    await watch(5);
    const before = await alerts();

    clock.advance(60 * MINUTE);
    await evaluate();

    expect(before).toMatchObject([{ kind: 'robot_offline', closed_at: null }]);
    expect(await alerts()).toEqual(before);
  });

  it('wait one window after an outage of the service before they call a robot offline', async () => {
    await rule('robot_offline', 5);
    await charge(80);
    await evaluate();
    clock.advance(60 * MINUTE);
    await evaluate();
    await watch(4);
    expect(await alerts()).toEqual([]);

    await watch(1);
    expect(await alerts()).toHaveLength(1);
  });

  it('report a robot that stays in a state of the rule, by default error', async () => {
    const states = async () => (await call('GET', 'alert-rules')).body.rules;
    const report = (state: string) => byRobot('telemetry', { state });
    const open = async () => {
      await evaluate();
      return alerts('?open=true');
    };
    await rule('robot_state', 5);
    expect(await states()).toEqual([{ kind: 'robot_state', threshold: 5, states: ['error'] }]);
    await report('error');
    await watch(4);
    expect(await open()).toEqual([]);
    await watch(1);
    expect(await open()).toMatchObject([{ kind: 'robot_state', robot_id: robot.id }]);
    await report('stuck');
    expect(await open()).toEqual([]);

    const named = { kind: 'robot_state', threshold: 1, states: ['lost', 'stuck'] };
    await call('POST', 'alert-rules', named);
    expect(await states()).toEqual([named]);
    await watch(1);
    expect(await open()).toMatchObject([{ kind: 'robot_state', threshold: 1 }]);

    const refused = await call('POST', 'alert-rules', { ...named, kind: 'battery_low' });
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_request']);
  });

  it('report events of severity error until they are acknowledged, and then those after', async () => {
    await rule('error_event', 10);
    await byRobot('events', { event_type: 'fault', severity: 'warn', message: 'slow' });
    await evaluate();
    expect(await alerts()).toEqual([]);
    await byRobot('events', { event_type: 'fault', severity: 'error', message: 'stuck' });
    await evaluate();
    expect(await alerts('?open=true')).toMatchObject([{ kind: 'error_event', robot_id: robot.id }]);

    clock.advance(60 * MINUTE);
    await evaluate();
    const [{ id }] = await alerts('?open=true');
    await call('POST', `alerts/${id}/acknowledge`);
    await evaluate();
    expect(await alerts('?open=true')).toEqual([]);

    clock.advance(1);
    await byRobot('events', { event_type: 'fault', severity: 'error', message: 'stuck again' });
    await evaluate();
    const again = await alerts('?open=true');
    expect(again).toMatchObject([{ kind: 'error_event', robot_id: robot.id }]);
    await call('POST', `alerts/${again[0].id}/acknowledge`);
    await evaluate();
    expect(await alerts('?open=true')).toEqual([]);
  });

  it('report an error between an acknowledgement and the next evaluation', async () => {
    await rule('error_event', 10);
    const fault = { event_type: 'fault', severity: 'error', message: 'stuck' };
    await byRobot('events', fault);
    await evaluate();
    const [{ id }] = await alerts('?open=true');
    await call('POST', `alerts/${id}/acknowledge`);
    clock.advance(1000);
    await byRobot('events', fault);
    await evaluate();
    await evaluate();

    const open = await alerts('?open=true');
    expect(open).toMatchObject([{ kind: 'error_event', acknowledged_at: null }]);
  });

  it('report credits that cover fewer anchors than the rule requires', async () => {
    await rule('credit_low', 1001);
    await evaluate();
    expect(await alerts()).toMatchObject([{ kind: 'credit_low', robot_id: null }]);

    await rule('credit_low', 1000);
    await evaluate();
    expect(await alerts('?open=true')).toEqual([]);
  });

  it('report without a rule a webhook that was disabled for its failures, not by its owner', async () => {
    const body = { url: 'https://ops.example.org', events: ['alert.opened'] };
    const { id } = (await call('POST', 'webhooks', body)).body.webhook;
    await call('PATCH', `webhooks/${id}`, { enabled: false });
    await evaluate();
    expect(await alerts()).toEqual([]);

    await call('PATCH', `webhooks/${id}`, { enabled: true });
    await service.store.deferWebhook(id, { disable: 'failures' }, clock.now());
    await evaluate();
    expect(await alerts('?open=true')).toMatchObject([{ kind: 'webhook_disabled' }]);
    await call('DELETE', `webhooks/${id}`);
    await evaluate();
    expect(await alerts('?open=true')).toEqual([]);
  });

  it('write their messages to the outbox when they open and close', async () => {
    const body = { url: 'https://ops.example.org', events: ['alert.opened', 'alert.closed'] };
    const { id } = (await call('POST', 'webhooks', body)).body.webhook;
    await rule('battery_low', 20);
    await charge(12);
    await evaluate();
    clock.advance(1);
    await charge(80);
    await evaluate();

    const found = await service.store.listWaiting(id, 10);
    expect(found.map(({ type }) => type)).toEqual(['alert.opened', 'alert.closed']);
    const [alert] = await alerts();
    expect(JSON.parse(found[0]?.data ?? '')).toEqual({
      id: alert.id,
      kind: 'battery_low',
      threshold: 20,
      robot_id: robot.id,
    });
  });

  it('close when their rule or their robot is deleted', async () => {
    await rule('battery_low', 20);
    await rule('error_event', 10);
    await charge(12);
    await byRobot('events', { event_type: 'fault', severity: 'error', message: 'stuck' });
    await evaluate();
    expect(await alerts('?open=true')).toHaveLength(2);

    await call('DELETE', 'alert-rules/battery_low');
    await evaluate();
    expect(await alerts('?open=true')).toMatchObject([{ kind: 'error_event' }]);
    await call('DELETE', `robots/${robot.id}`);
    await evaluate();
    expect(await alerts('?open=true')).toEqual([]);
  });

  it('are acknowledged once, only by their account', async () => {
    await rule('battery_low', 20);
    await charge(12);
    await evaluate();
    const [{ id }] = await alerts();
    const stranger = await service.signIn();
    const refused = await call('POST', `alerts/${id}/acknowledge`, undefined, stranger);
    const first = await call('POST', `alerts/${id}/acknowledge`);
    clock.advance(1000);
    const second = await call('POST', `alerts/${id}/acknowledge`);

    expect(refused.status).toBe(404);
    expect(first.body.alert.acknowledged_at).toBe(new Date(clock.now() - 1000).toISOString());
    expect(second.body).toEqual(first.body);
  });

  it('are acknowledged together', async () => {
    await rule('battery_low', 20);
    await rule('credit_low', 1001);
    await charge(12);
    await evaluate();
    const alert_ids = (await alerts()).map(({ id }: { id: string }) => id);

    const { body } = await call('POST', 'alerts/acknowledge', { alert_ids });

    expect(body).toEqual({ acknowledged: 2 });
    const acknowledged_at = new Date(clock.now()).toISOString();
    expect(await alerts()).toMatchObject([{ acknowledged_at }, { acknowledged_at }]);
  });

  it('are listed in pages, newest first', async () => {
    await rule('battery_low', 20);
    for (let i = 0; i < 3; i += 1) {
      for (const percent of [12, 80]) {
        clock.advance(1);
        await charge(percent);
        await evaluate();
      }
    }
    const all = await alerts();
    const first = (await call('GET', 'alerts?limit=2')).body;
    const rest = (await call('GET', `alerts?limit=2&cursor=${first.next_cursor}`)).body;

    expect(all.map(({ opened_at }: { opened_at: string }) => opened_at)).toEqual(
      all
        .map(({ opened_at }: { opened_at: string }) => opened_at)
        .sort()
        .reverse(),
    );
    expect([...first.items, ...rest.items]).toEqual(all);
    expect(rest.next_cursor).toBeNull();
  });

  it('refuse a percentage above 100, with field and limit', async () => {
    const [refused, highest, minutes] = [
      await rule('battery_low', 101),
      await rule('battery_low', 100),
      await rule('robot_offline', 101),
    ];

    expect([refused, highest, minutes].map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(refused.body).toMatchObject({
      error: 'invalid_request',
      message: 'threshold must be at most 100 for battery_low.',
    });
  });

  it('have one rule per kind', async () => {
    await rule('battery_low', 20);
    await rule('credit_low', 10);
    await rule('battery_low', 30);

    expect((await call('GET', 'alert-rules')).body.rules).toEqual([
      { kind: 'battery_low', threshold: 30 },
      { kind: 'credit_low', threshold: 10 },
    ]);
  });
});

describe('the alerts of anchors', () => {
  it.each(['no_anchor_quota', 'no_gas_credit'])(
    'mark a task once that is refused for %s, and raise the credit alert without a rule',
    async (reason) => {
      const anchors = reason === 'no_anchor_quota' ? 0 : 1;
      const service = await startTestService({
        chain: 'mining',
        webhooks: { key: Buffer.alloc(32), ruleOf: () => () => true },
        settings: {
          signup: { mode: 'open', anchors, gasWei: 0n, delayMs: 0, anchorsPerDay: null },
        },
      });
      const { owner, robot } = await service.signInWithRobot();
      const { session } = owner;
      const body = { url: 'https://ops.example.org', events: ['task.refused', 'alert.opened'] };
      const { webhook } = (await service.call('POST', '/api/v1/webhooks', { session, body })).body;
      const taskId = await service.claim(robot);
      for (let i = 0; i < 3; i += 1) {
        expect((await service.complete(robot, taskId)).body.error).toBe(reason);
      }
      const found = await service.store.listWaiting(webhook.id, 10);
      const evaluated = async () => {
        await evaluateRules({ store: service.store, clock: { now: Date.now } });
        return (await service.call('GET', '/api/v1/alerts', { session })).body.items;
      };
      const alerts = await evaluated();
      await service.claim(robot);
      const { task } = (await service.call('GET', `/api/v1/tasks/${taskId}`, { session })).body;
      const path = '/api/v1/tasks?state=refused';
      const waiting = (await service.call('GET', path, { session })).body.items;
      const { credits } = (await service.call('GET', '/api/v1/me', { session })).body;
      await grant(service.store, owner.wallet, 5, 10n ** 18n);
      const afterGrant = await evaluated();
      await service.close();

      expect(task.credit_refused_at).not.toBeNull();
      expect(waiting).toMatchObject([{ id: taskId, credit_refused_at: task.credit_refused_at }]);
      expect(credits.refused).toEqual({ tasks: 1, since: task.credit_refused_at });
      expect(found.map(({ type }) => type).sort()).toEqual(['alert.opened', 'task.refused']);
      const refused = found.find(({ type }) => type === 'task.refused');
      const data = { task_id: taskId, robot_id: robot.id, reason };
      expect(JSON.parse(refused?.data ?? '')).toEqual(data);
      expect(alerts).toMatchObject([{ kind: 'credit_low', threshold: 1, closed_at: null }]);
      expect(afterGrant).toMatchObject([{ id: alerts[0].id, closed_at: expect.any(String) }]);
    },
  );

  it('report an anchor that waits for its block, and its task when it is verified', async () => {
    const service = await startTestService({
      chain: 'manual',
      webhooks: { key: Buffer.alloc(32), ruleOf: () => () => true },
      settings: { anchorTimeoutMs: 0 },
    });
    const { owner, robot } = await service.signInWithRobot();
    const { session } = owner;
    const get = async (path: string) => (await service.call('GET', path, { session })).body;
    const body = { url: 'https://ops.example.org', events: ['task.verified'] };
    const { webhook } = (await service.call('POST', '/api/v1/webhooks', { session, body })).body;
    const rule = { kind: 'anchor_stuck', threshold: 5 };
    await service.call('POST', '/api/v1/alert-rules', { session, body: rule });
    const taskId = await service.claim(robot);
    await service.complete(robot, taskId);
    const at = (minutes: number) => ({ now: () => Date.now() + minutes * MINUTE });
    await evaluateRules({ store: service.store, clock: at(4) });
    expect((await get('/api/v1/alerts')).items).toEqual([]);
    await evaluateRules({ store: service.store, clock: at(6) });
    expect((await get('/api/v1/alerts')).items).toMatchObject([
      { kind: 'anchor_stuck', robot_id: robot.id, closed_at: null },
    ]);

    const isVerified = async () => {
      await service.rpc('evm_mine');
      return (await get(`/api/v1/tasks/${taskId}`)).verification;
    };
    const verification = await waitFor('the receipt', isVerified);
    await evaluateRules({ store: service.store, clock: at(6) });
    expect((await get('/api/v1/alerts?open=true')).items).toEqual([]);
    const [message] = await service.store.listWaiting(webhook.id, 10);
    await service.close();
    const { proof_hash, chain_id, tx_hash, block_number } = verification;
    const receipt = { task_id: taskId, robot_id: robot.id, proof_hash, chain_id };
    expect(JSON.parse(message?.data ?? '')).toEqual({ ...receipt, tx_hash, block_number });
  });
});
