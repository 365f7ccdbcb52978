import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { WebhookType } from '../../src/protocol/webhooks.ts';
import type { Actor } from '../../src/server/ports/account.ts';
import { LONGEST_PAUSE_MS } from '../../src/server/rules/webhooks.ts';
import { type OpenStore, World } from './world.ts';

/** The outbox of webhooks and the rows of alerts, beyond what test/http shows. */
export function webhookContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const by = (): Actor => ({ actor: 'session', actor_name: null, source: null, at: world.now });
  async function webhook(wallet: string, events: WebhookType[]): Promise<string> {
    const [id, url] = [randomUUID(), 'https://ops.example.org'];
    const members = { id, wallet, url, events: JSON.stringify(events), secret: Buffer.alloc(60) };
    await world.store.createWebhook({ ...members, created_at: world.now }, by());
    return id;
  }
  const waiting = async (id: string) => {
    await world.store.numberDeliveries(world.now);
    return world.store.listWaiting(id, 100);
  };

  it('reports a proof that the chain refused, and opens the alert of its robot', async () => {
    const robot = await world.robot();
    const { id: robot_id, wallet } = robot;
    const id = await webhook(wallet, ['task.failed']);
    await world.store.saveAlertRule(wallet, { kind: 'anchor_failed', threshold: 10 });
    const lease = await world.lease();
    const [task] = await world.queued(robot_id, 2);
    await world.store.failQueuedProofs(lease, [task?.id ?? ''], 'no funds', world.now);

    const [message, ...others] = await waiting(id);
    expect([message?.type, others]).toEqual(['task.failed', []]);
    const data = { task_id: task?.id, robot_id, reason: 'no funds' };
    expect(JSON.parse(message?.data ?? '')).toEqual(data);
    const alert = { wallet, kind: 'anchor_failed', threshold: 10, robot_id };
    expect(await world.store.listFiring('anchor_failed', world.now, 0)).toEqual([alert]);
    expect(await world.store.listFiring('anchor_failed', world.now + 600_000, 0)).toEqual([]);
  });

  it('opens one alert per rule and robot, however many evaluations find it', async () => {
    const { id: robot_id, wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    const firing = [{ wallet, kind: 'battery_low' as const, threshold: 20, robot_id }];
    const evaluations = Array.from({ length: 5 }, () =>
      world.store.changeAlerts(firing, [], world.now),
    );
    await Promise.all(evaluations);

    expect(await world.store.listOpenAlerts('battery_low')).toHaveLength(1);
    expect(await waiting(id)).toHaveLength(1);
  });

  it('keeps at most one test of a webhook waiting', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    const first = await world.store.testWebhook(id, wallet, world.now);

    expect(await world.store.testWebhook(id, wallet, world.now)).toEqual(first);
    expect(await waiting(id)).toHaveLength(1);
  });

  it('numbers each message once, and a replayed one after the others', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    const firing = { wallet, kind: 'battery_low' as const, threshold: 20 };
    for (let i = 0; i < 3; i += 1) {
      await world.store.changeAlerts([{ ...firing, robot_id: randomUUID() }], [], world.now + i);
    }
    const numbering = [1, 2].map(() => world.store.numberDeliveries(world.now));
    await Promise.allSettled(numbering);
    const [first, second, third] = (await waiting(id)).map((message) => message.id);
    await world.store.replayDelivery(first ?? '', wallet);

    expect((await waiting(id)).map((message) => message.id)).toEqual([second, third, first]);
    const page = await world.store.listDeliveries(id, wallet, 2, null);
    expect(page?.map((one) => one.id)).toEqual([first, third]);
    const rest = await world.store.listDeliveries(id, wallet, 2, third ?? null);
    expect(rest?.map((one) => one.id)).toEqual([second]);
  });

  it('disables a webhook with its messages, and an attempt that ends later changes nothing', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const [message] = await waiting(id);
    await world.store.changeWebhook(id, { enabled: false }, { ...by(), wallet });
    const attempt = { webhookId: id, deliveryId: message?.id ?? '', status: 500, at: world.now };
    await world.store.recordFailed({ ...attempt, error: 'status 500' }, { at: world.now });

    expect(await world.store.readDueWebhook(id, world.now)).toBeNull();
    const [delivery] = (await world.store.listDeliveries(id, wallet, 10, null)) ?? [];
    expect(delivery).toMatchObject({ state: 'abandoned', attempts: 1 });
  });

  it('keeps a webhook disabled, with nothing to send again, when an attempt succeeds later', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const [message] = await waiting(id);
    const attempt = { webhookId: id, deliveryId: message?.id ?? '', status: 500, at: world.now };
    await world.store.recordFailed({ ...attempt, error: 'status 500' }, { at: world.now });
    await world.store.changeWebhook(id, { enabled: false }, { ...by(), wallet });
    await world.store.recordDelivered({ ...attempt, status: 204, error: null });

    expect(await world.store.readDueWebhook(id, world.now)).toBeNull();
    expect(await world.store.replayDelivery(attempt.deliveryId, wallet)).toBe(false);
  });

  it('has nothing due while its account is suspended', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    await waiting(id);
    const due = async () =>
      (await world.store.listDueWebhooks(true, 10, world.now)).map((one) => one.id);
    const before = await due();
    await world.store.suspendAccount(wallet, true, by(), null);
    const suspended = await due();
    await world.store.suspendAccount(wallet, false, by(), null);

    expect([before, suspended, await due()]).toEqual([[id], [], [id]]);
  });

  it('tries a webhook again that a wrong clock deferred for years', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    await waiting(id);
    const due = async () => {
      const listed = await world.store.listDueWebhooks(true, 10, world.now);
      return [listed.length, (await world.store.readDueWebhook(id, world.now)) === null];
    };

    await world.store.deferWebhook(id, { at: world.now + LONGEST_PAUSE_MS }, world.now);
    expect(await due()).toEqual([0, true]);

    await world.store.deferWebhook(id, { at: world.now + 700 * 86_400_000 }, world.now);
    expect(await due()).toEqual([1, false]);
  });

  it('deletes old messages and closed alerts in small steps, and no others', async () => {
    const { id: robot_id, wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    const firing = { wallet, kind: 'battery_low' as const, threshold: 20, robot_id };
    for (let i = 0; i < 3; i += 1) {
      await world.store.changeAlerts([firing], [], world.now);
      if (i === 2) break;
      const open = await world.store.listOpenAlerts('battery_low');
      await world.store.changeAlerts([], open, world.now);
      world.clock.advance(10);
    }
    const before = world.now;

    expect(await world.store.deleteDeliveries(before, 1)).toBe(true);
    expect(await world.store.deleteDeliveries(before, 10)).toBe(false);
    expect(await world.store.deleteAlerts(before + 1, 1)).toBe(true);
    expect(await world.store.deleteAlerts(before + 1, 10)).toBe(false);
    expect(await waiting(id)).toHaveLength(1);
    const filter = { open: false, limit: 10, before: null };
    expect(await world.store.listAlerts(wallet, filter)).toMatchObject([{ closed_at: null }]);
  });
}
