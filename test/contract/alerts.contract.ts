import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createEvaluation } from '../../src/server/core/alert-evaluation.ts';
import { FUNDED_MS } from '../../src/server/rules/storage.ts';
import { evaluateRules } from '../support/alerts.ts';
import { newWallet, type OpenStore, World } from './world.ts';

/** Alerts, refused tasks, and how accounts take turns when their alert rules are evaluated. */
export function alertContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await world.close();
  });

  /** An account whose rule holds. */
  const poor = async () => {
    const wallet = await world.account(1);
    await world.store.saveAlertRule(wallet, { kind: 'credit_low', threshold: 2 });
    return wallet;
  };
  const watched = async (isFunded: boolean) =>
    (await world.store.listWatched('', isFunded, world.now)).wallets;

  describe('an alert', () => {
    async function opened() {
      const wallet = await poor();
      await evaluateRules(world);
      const find = async () => {
        const filter = { open: true, limit: 1, before: null };
        const [alert] = await world.store.listAlerts(wallet, filter);
        if (alert === undefined) throw new Error('No alert is open');
        return alert;
      };
      return { wallet, find, alert: await find() };
    }

    it('keeps the time at which it was first acknowledged', async () => {
      const { wallet, find, alert } = await opened();
      const acknowledge = () => world.store.acknowledgeAlert(alert.id, wallet, world.now);
      const acknowledged = { ...alert, acknowledged_at: world.now };

      expect(await acknowledge()).toEqual(acknowledged);
      world.clock.advance(1000);
      expect(await acknowledge()).toEqual(acknowledged);
      expect(await find()).toEqual(acknowledged);
    });

    it('is acknowledged with others, and counted if it was not before', async () => {
      const { wallet, find, alert } = await opened();
      const ids = [alert.id, uuid()];
      const acknowledge = (by = wallet) => world.store.acknowledgeAlerts(ids, by, world.now);

      expect(await acknowledge(newWallet())).toBe(0);
      expect([await acknowledge(), await acknowledge()]).toEqual([1, 0]);
      expect(await find()).toEqual({ ...alert, acknowledged_at: world.now });
    });

    it('is acknowledged by its own account alone', async () => {
      const { find, alert } = await opened();

      expect(await world.store.acknowledgeAlert(alert.id, newWallet(), world.now)).toBeNull();
      expect(await find()).toEqual(alert);
    });
  });

  describe('refused tasks', () => {
    async function refused(wallet: string) {
      const { id } = await world.robot(wallet);
      const completion = world.completion(await world.task(id));
      const { outcome } = await world.store.queueCompletion(completion);
      expect(outcome).toBe('no_anchor_quota');
      return completion;
    }

    it('are counted for their account, up to a limit, with the first refusal', async () => {
      await world.lease();
      const wallet = await world.account(0, 0n);
      await refused(await world.account(0, 0n));
      const since = world.now;
      await refused(wallet);
      world.clock.advance(1000);
      await refused(wallet);

      expect(await world.store.countRefused(wallet, 10)).toEqual({ tasks: 2, since });
      expect(await world.store.countRefused(wallet, 1)).toEqual({ tasks: 1, since });
    });

    it('are counted from their first refusal until they are verified', async () => {
      const lease = await world.lease();
      const wallet = await world.account(0, 0n);
      await world.task((await world.robot(wallet)).id);
      const none = { tasks: 0, since: null };
      expect(await world.store.countRefused(wallet, 10)).toEqual(none);

      const completion = await refused(wallet);
      expect(await world.store.countRefused(wallet, 10)).toMatchObject({ tasks: 1 });

      await world.grant(wallet, 1, 10n ** 18n);
      await world.store.queueCompletion(completion);
      await world.settled(lease);
      expect(await world.store.countRefused(wallet, 10)).toEqual(none);
    });
  });

  it('finds the robots that stayed in a state of the rule', async () => {
    const { id, wallet, keyHash } = await world.robot();
    const states = ['error', 'st"uck'];
    const rule = { kind: 'robot_state', threshold: 5, states } as const;
    await world.store.saveAlertRule(wallet, { ...rule, states: ['lost'] });
    await world.store.saveAlertRule(wallet, { ...rule, states });
    expect(await world.store.listAlertRules(wallet)).toEqual([rule]);
    const sample = { id: uuid(), recordedAt: world.now, batteryPct: null, metrics: '{}' };
    const samples = [{ ...sample, state: 'st"uck' }];
    await world.store.recordSamples({ robotId: id, keyHash, samples, now: world.now });

    const firing = (at: number) => world.store.listFiring('robot_state', [wallet], at);
    expect(await firing(world.now + 299_999)).toEqual([]);
    const found = { wallet, kind: 'robot_state', threshold: 5, robot_id: id };
    expect(await firing(world.now + 300_000)).toEqual([found]);
  });

  it('lists accounts with a rule, an open alert or a failed webhook, and none at rest', async () => {
    const ruled = await poor();
    const alerted = await poor();
    await world.account();
    await evaluateRules(world);
    await world.store.deleteAlertRule(alerted, 'credit_low');
    expect((await watched(true)).sort()).toEqual([ruled, alerted].sort());

    await evaluateRules(world);
    expect(await watched(true)).toEqual([ruled]);
  });

  it('lists accounts apart whose grant is old', async () => {
    const old = await poor();
    world.clock.advance(FUNDED_MS + 1);
    const recent = await poor();

    expect([await watched(true), await watched(false)]).toEqual([[recent], [old]]);
  });

  it('lists no more accounts at once when these have many robots', async () => {
    const wallets: string[] = [];
    for (let i = 0; i < 4; i += 1) wallets.push(await world.account());
    for (const wallet of wallets) {
      await world.store.saveAlertRule(wallet, { kind: 'battery_low', threshold: 20 });
      for (let i = 0; i < 150; i += 1) await world.robot(wallet);
    }
    const first = await world.store.listWatched('', true, world.now);
    const second = await world.store.listWatched(first.last ?? '', true, world.now);
    const end = await world.store.listWatched(second.last ?? '', true, world.now);

    expect([...first.wallets, ...second.wallets]).toEqual(wallets.sort());
    // The third account joins because the first one alone has fewer than 250 robots.
    expect(first.wallets).toHaveLength(3);
    expect(end).toEqual({ wallets: [], last: null });
  });

  it('evaluates accounts with a recent grant before the others', async () => {
    const old = [await poor(), await poor(), await poor()];
    world.clock.advance(FUNDED_MS + 1);
    const recent = [await poor(), await poor(), await poor()];
    const changes = vi.spyOn(world.store, 'changeAlerts');
    await evaluateRules(world);

    const opened = changes.mock.calls.flatMap(([alerts]) => alerts.map(({ wallet }) => wallet));
    expect(opened.slice(0, 3).sort()).toEqual(recent.sort());
    expect(opened.slice(3).sort()).toEqual(old.sort());
  });

  it('evaluates one slice in a call when the time is up, and all accounts in the end', async () => {
    for (let i = 0; i < 120; i += 1) await poor();
    const changes = vi.spyOn(world.store, 'changeAlerts');
    const evaluate = createEvaluation(world, 0);
    const opened: number[] = [];
    for (let calls = 0; calls < 100; calls += 1) {
      changes.mockClear();
      await evaluate();
      const alerts = changes.mock.calls.flatMap(([some]) => some);
      if (alerts.length > 0) opened.push(alerts.length);
    }

    expect(opened).toEqual([100, 20]);
  });

  it('evaluates every 30 s, also after the clock went back by hours', async () => {
    const evaluate = createEvaluation(world, Number.POSITIVE_INFINITY);
    let monoMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => monoMs);
    await evaluate();
    world.clock.advance(-3.5 * 3_600_000);
    const wallet = await poor();
    const open = async () => (await world.store.listOpenAlerts('credit_low', [wallet])).length;
    const found: number[] = [];
    for (monoMs of [29_999, 30_000]) {
      await evaluate();
      found.push(await open());
    }

    expect(found).toEqual([0, 1]);
  });

  it('counts from now, not from a time that lies ahead, after the clock went back', async () => {
    const note = async (ms: number) => {
      world.clock.advance(ms);
      return world.now - (await world.store.noteEvaluation(world.now, 90_000));
    };

    expect([await note(0), await note(60_000)]).toEqual([0, 60_000]);
    expect([await note(23 * 3_600_000), await note(-23 * 3_600_000)]).toEqual([0, 0]);
    expect(await note(30_000)).toBe(30_000);
  });
}
