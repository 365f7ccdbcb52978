import { randomUUID } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { WebhookType } from '../../src/protocol/webhooks.ts';
import type { Actor } from '../../src/server/ports/account.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import type { Attempt, WaitingMessage } from '../../src/server/ports/webhooks.ts';
import { FUNDED_MS } from '../../src/server/rules/storage.ts';
import { LONGEST_PAUSE_MS } from '../../src/server/rules/webhooks.ts';
import { chainId, newWallet, type OpenStore, World } from './world.ts';

const LONG = 'あ'.repeat(2000);

/** The outbox of webhooks and the rows of alerts, beyond what test/http shows. */
export function webhookContract(open: OpenStore): void {
  let world: World;
  beforeEach(async () => {
    world = await World.open(open);
  });
  afterEach(() => world.close());

  const by = (): Actor => ({ actor: 'session', actor_name: null, source: null, at: world.now });
  async function webhook(wallet: string, events: WebhookType[]): Promise<string> {
    const [id, url] = [uuid(), 'https://ops.example.org'];
    const members = { id, wallet, url, events: JSON.stringify(events), secret: Buffer.alloc(60) };
    await world.store.createWebhook({ ...members, created_at: world.now }, by());
    return id;
  }
  const waiting = (id: string) => world.store.listWaiting(id, 1000);
  const attemptOf = (
    webhookId: string,
    message: WaitingMessage | undefined,
    result: Pick<Attempt, 'status' | 'error'>,
  ) => {
    const { id: deliveryId = '', number = 0 } = message ?? {};
    return { webhookId, deliveryId, number, ...result, at: world.now };
  };

  /** Opens alerts, each with a message. */
  const openAlerts = (wallet: string, count: number) => {
    const firing = { wallet, kind: 'battery_low' as const, threshold: 20 };
    const alerts = Array.from({ length: count }, () => ({ ...firing, robot_id: randomUUID() }));
    return world.store.changeAlerts(alerts, [], world.now);
  };

  it('lists the webhooks of an account in pages, newest first', async () => {
    const { wallet } = await world.robot();
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.unshift(await webhook(wallet, ['task.failed']));
    await webhook(await world.account(), ['task.failed']);
    const list = (limit: number, before: string | null) =>
      world.store.listWebhooks(wallet, limit, before);

    const [newest, ...rest] = await list(10, null);

    expect(newest).toEqual({
      ...{ id: ids[0], url: 'https://ops.example.org', events: '["task.failed"]' },
      ...{ created_at: world.now, failing_since: null, disabled_at: null, disabled_for: null },
    });
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(1));
    expect((await list(1, ids[0] ?? '')).map(({ id }) => id)).toEqual([ids[1]]);
  });

  it('deletes a webhook with all its messages, and no other webhook', async () => {
    const { wallet } = await world.robot();
    const [id, other] = [
      await webhook(wallet, ['alert.opened']),
      await webhook(wallet, ['alert.opened']),
    ];
    // More than one commit deletes.
    await openAlerts(wallet, 501);

    expect(await world.store.deleteWebhook(id, { ...by(), wallet })).toBe(true);

    expect(await waiting(id)).toEqual([]);
    expect(await waiting(other)).toHaveLength(501);
    const left = await world.store.listWebhooks(wallet, 10, null);
    expect(left.map((one) => one.id)).toEqual([other]);
    const [entry] = await world.store.listAuditLog(wallet, 1, null);
    expect(entry).toMatchObject({ kind: 'webhook_deleted', target_id: id });
  });

  it('deletes no webhook of another account', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);

    expect(await world.store.deleteWebhook(id, { ...by(), wallet: newWallet() })).toBe(false);
    expect(await world.store.listWebhooks(wallet, 10, null)).toMatchObject([
      { id, disabled_at: null },
    ]);
  });

  it('signs with the previous secret too until the overlap of a rotation ends', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const secret = Buffer.alloc(60, 1);
    const oldUntil = world.now + 1000;
    await world.store.changeWebhook(id, { rotation: { secret, oldUntil } }, { ...by(), wallet });
    const secretsAt = async (now: number) => {
      const webhook = await world.store.readDueWebhook(id, now);
      return [webhook?.secret, webhook?.old_secret];
    };

    expect(await secretsAt(oldUntil - 1)).toEqual([secret, Buffer.alloc(60)]);
    expect(await secretsAt(oldUntil)).toEqual([secret, null]);
  });

  it('reports a verified task once, with its transaction, to its account alone', async () => {
    const robot = await world.robot();
    const id = await webhook(robot.wallet, ['task.verified']);
    const other = await webhook(await world.account(), ['task.verified']);
    const lease = await world.lease();
    const [task] = await world.queued(robot.id, 1);
    const { variant } = await world.settled(lease);

    const messages = await waiting(id);
    expect(messages.map(({ type, data }) => [type, JSON.parse(data)])).toEqual([
      [
        'task.verified',
        {
          ...{ task_id: task?.id, robot_id: robot.id, proof_hash: expect.any(String) },
          ...{ chain_id: chainId, tx_hash: variant.txHash, block_number: '5' },
        },
      ],
    ]);
    expect(await waiting(other)).toEqual([]);
  });

  it('disables a webhook with too many messages waiting, even while it is deferred', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    await world.store.deferWebhook(id, { at: world.now + 3_600_000 }, world.now);
    const shown = async () => (await world.store.listWebhooks(wallet, 1, null))[0]?.disabled_for;
    await openAlerts(wallet, limits.webhookBacklog);
    expect(await shown()).toBe(null);
    await openAlerts(wallet, 1);

    expect(await shown()).toBe('backlog');
    expect(await world.store.listWaiting(id, 1)).toEqual([]);
  });

  it('keeps the leader, whichever of its loops asks', async () => {
    expect(await world.store.lead()).toBe(true);
    expect(await world.store.lead()).toBe(true);
  });

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
    const firing = async (now: number) =>
      (await world.store.listAnchors('anchor_failed', now, null)).firing;
    expect(await firing(world.now)).toMatchObject([alert]);
    expect(await firing(world.now + 600_000)).toEqual([]);
  });

  it('opens one alert per rule and robot, however many evaluations find it', async () => {
    const { id: robot_id, wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    const firing = [{ wallet, kind: 'battery_low' as const, threshold: 20, robot_id }];
    const evaluations = Array.from({ length: 5 }, () =>
      world.store.changeAlerts(firing, [], world.now),
    );
    await Promise.all(evaluations);

    expect(await world.store.listOpenAlerts('battery_low', [wallet])).toHaveLength(1);
    expect(await waiting(id)).toHaveLength(1);
  });

  it('keeps at most one test of a webhook waiting', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    const first = await world.store.testWebhook(id, wallet, world.now);

    expect(await world.store.testWebhook(id, wallet, world.now)).toEqual(first);
    expect(await waiting(id)).toHaveLength(1);
  });

  it('puts a replayed message after the others', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    const firing = { wallet, kind: 'battery_low' as const, threshold: 20 };
    for (let i = 0; i < 3; i += 1) {
      await world.store.changeAlerts([{ ...firing, robot_id: randomUUID() }], [], world.now + i);
    }
    const [first, second, third] = (await waiting(id)).map((message) => message.id);
    await world.store.replayDelivery(first ?? '', wallet, world.now);

    expect((await waiting(id)).map((message) => message.id)).toEqual([second, third, first]);
    const page = await world.store.listDeliveries(id, wallet, 2, null);
    expect(page?.map((one) => one.id)).toEqual([first, third]);
    const rest = await world.store.listDeliveries(id, wallet, 2, third ?? null);
    expect(rest?.map((one) => one.id)).toEqual([second]);
  });

  const report = ({ id: robotId, keyHash }: NewRobot, message: string) =>
    world.store.createEvent({
      ...{ id: randomUUID(), robotId, keyHash, eventType: 'x', severity: 'info', message },
      ...{ payload: '{}', occurredAt: null, createdAt: world.now },
    });

  it('numbers the messages of each webhook in the order of their commits', async () => {
    const robot = await world.robot();
    const ids = await Promise.all([1, 2].map(() => webhook(robot.wallet, ['event.created'])));
    const names = Array.from({ length: 20 }, (_, n) => `${n}`);
    await Promise.all(names.map((name) => report(robot, name)));

    for (const id of ids) {
      const found = await waiting(id);
      expect(found.map(({ number }) => number)).toEqual(names.map((_, n) => n + 1));
      const messages = found.map(({ data }) => JSON.parse(data).message);
      expect(messages.sort()).toEqual([...names].sort());
    }
  });

  it('gives a disabled webhook no message and no number', async () => {
    const robot = await world.robot();
    const id = await webhook(robot.wallet, ['event.created']);
    const enable = (enabled: boolean) =>
      world.store.changeWebhook(id, { enabled }, { ...by(), wallet: robot.wallet });
    await enable(false);
    await report(robot, 'unheard');
    await enable(true);
    await report(robot, 'heard');

    expect(await waiting(id)).toMatchObject([{ number: 1 }]);
  });

  it('drops messages that have no room, never their events, and reports them once', async () => {
    const robot = await world.robot();
    world.clock.advance(FUNDED_MS);
    const id = await webhook(robot.wallet, ['event.created']);
    for (let i = 0; i < 20; i += 1) {
      const some = Array.from({ length: 10 }, () => report(robot, LONG));
      expect((await Promise.all(some)).every(({ outcome }) => outcome === 'created')).toBe(true);
    }
    const kept = await waiting(id);
    const bytes = kept.reduce((sum, { data }) => sum + Buffer.byteLength(data) + 256, 0);
    expect(bytes).toBeLessThanOrEqual(limits.webhookBytesWithoutGrant);
    expect(kept.length).toBeGreaterThan(150);

    for (const message of kept.slice(0, 3)) {
      await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));
    }
    const gap = { type: 'gap', number: 201, data: `{"first":${kept.length + 1},"last":200}` };
    expect((await waiting(id)).slice(kept.length - 3)).toMatchObject([gap]);

    await report(robot, LONG);
    expect((await waiting(id)).at(-1)).toMatchObject({ type: 'event.created', number: 202 });
    expect(await world.store.checkInvariants()).toEqual([]);
  });

  /** A webhook without a grant, whose messages of 180 events have no room. */
  async function fullOutbox() {
    const robot = await world.robot();
    world.clock.advance(FUNDED_MS);
    const id = await webhook(robot.wallet, ['event.created']);
    await Promise.all(Array.from({ length: 180 }, () => report(robot, LONG)));
    return { robot, id };
  }

  it('drops nothing while delivered messages make way, also above the limit', async () => {
    const robot = await world.robot();
    const id = await webhook(robot.wallet, ['event.created']);
    await Promise.all(Array.from({ length: 200 }, () => report(robot, LONG)));
    for (const message of await waiting(id)) {
      await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));
    }
    world.clock.advance(FUNDED_MS);
    await report(robot, LONG);

    expect(await waiting(id)).toMatchObject([{ type: 'event.created', number: 201 }]);
  });

  it('deletes no more delivered messages than a new one needs', async () => {
    const { robot, id } = await fullOutbox();
    for (const message of await waiting(id)) {
      await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));
    }
    const listed = async () =>
      (await world.store.listDeliveries(id, robot.wallet, 1000, null))?.length ?? 0;
    const before = await listed();
    await report(robot, LONG);

    expect([await listed(), before > 150]).toEqual([before, true]);
  });

  it('sends a message under its new number when it was replayed during an attempt', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const [message] = await waiting(id);
    await world.store.changeWebhook(id, { enabled: false }, { ...by(), wallet });
    await world.store.changeWebhook(id, { enabled: true }, { ...by(), wallet });
    await world.store.replayDelivery(message?.id ?? '', wallet, world.now);
    await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));

    expect(await waiting(id)).toMatchObject([{ id: message?.id, number: 2 }]);
  });

  it('does not count a replayed message as dropped', async () => {
    const { robot, id } = await fullOutbox();
    const kept = await waiting(id);
    await world.store.replayDelivery(kept[0]?.id ?? '', robot.wallet, world.now);

    const data = `{"first":${kept.length + 1},"last":180}`;
    expect((await waiting(id)).slice(-2)).toMatchObject([
      { type: 'gap', number: 181, data },
      { id: kept[0]?.id, number: 182 },
    ]);
  });

  it('reports dropped messages also before the next one that has room', async () => {
    const { robot, id } = await fullOutbox();
    const kept = (await waiting(id)).length;
    await report(robot, '');

    const data = `{"first":${kept + 1},"last":180}`;
    expect((await waiting(id)).slice(kept)).toMatchObject([
      { type: 'gap', number: 181, data },
      { type: 'event.created', number: 182 },
    ]);
  });

  it('disables a webhook with its messages, and an attempt that ends later changes nothing', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const [message] = await waiting(id);
    await world.store.changeWebhook(id, { enabled: false }, { ...by(), wallet });
    const attempt = attemptOf(id, message, { status: 500, error: 'status 500' });
    await world.store.recordFailed(attempt, { at: world.now });

    expect(await world.store.readDueWebhook(id, world.now)).toBeNull();
    const [delivery] = (await world.store.listDeliveries(id, wallet, 10, null)) ?? [];
    expect(delivery).toMatchObject({ state: 'abandoned', attempts: 1 });
  });

  it('keeps a webhook disabled, with nothing to send again, when an attempt succeeds later', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const [message] = await waiting(id);
    const attempt = attemptOf(id, message, { status: 500, error: 'status 500' });
    await world.store.recordFailed(attempt, { at: world.now });
    await world.store.changeWebhook(id, { enabled: false }, { ...by(), wallet });
    await world.store.recordDelivered({ ...attempt, status: 204, error: null });

    expect(await world.store.readDueWebhook(id, world.now)).toBeNull();
    expect(await world.store.replayDelivery(attempt.deliveryId, wallet, world.now)).toBe(false);
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

  it('has nothing due without a message that waits, until the next one has a number', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    const due = async () =>
      (await world.store.listDueWebhooks(true, 10, world.now)).map((one) => one.id);
    const send = async () => {
      await world.store.testWebhook(id, wallet, world.now);
      const [message] = await waiting(id);
      const tried = attemptOf(id, message, { status: 204, error: null });
      return () => world.store.recordDelivered({ ...tried, at: world.now });
    };
    const deliver = await send();
    await world.store.restWebhook(id);
    const withMessage = await due();
    await deliver();
    await world.store.restWebhook(id);
    const without = await due();
    await send();

    expect([withMessage, without, await due()]).toEqual([[id], [], [id]]);
  });

  it('lists a due webhook by the grant of its account when a message got its number', async () => {
    const { wallet } = await world.robot();
    const id = await webhook(wallet, ['task.failed']);
    const due = async () => {
      await world.store.testWebhook(id, wallet, world.now);
      await waiting(id);
      const lists = [true, false].map((isFunded) =>
        world.store.listDueWebhooks(isFunded, 10, world.now),
      );
      return (await Promise.all(lists)).map((list) => list.length);
    };
    const recent = await due();
    world.clock.advance(FUNDED_MS + 1);
    const [message] = await waiting(id);
    await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));

    expect([recent, await due()]).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  it.each([
    { kind: 'a webhook that failed', fails: true, funded: true, longest: LONGEST_PAUSE_MS },
    { kind: 'an account without a grant', fails: false, funded: false, longest: 3_600_000 },
    { kind: 'an account with one', fails: false, funded: true, longest: 0 },
  ])('keeps no wait that is longer than those of its kind: $kind', async (given) => {
    const { fails, funded, longest } = given;
    const { wallet } = await world.robot();
    if (!funded) world.clock.advance(FUNDED_MS + 1);
    const id = await webhook(wallet, ['task.failed']);
    await world.store.testWebhook(id, wallet, world.now);
    const [message] = await waiting(id);
    const failed = attemptOf(id, message, { status: 500, error: 'status 500' });
    if (fails) await world.store.recordFailed(failed, { at: world.now });
    const dueAfter = async (ms: number) => {
      await world.store.deferWebhook(id, { at: world.now + ms }, world.now);
      const listed = await world.store.listDueWebhooks(funded, 10, world.now);
      return [listed.length, (await world.store.readDueWebhook(id, world.now)) !== null];
    };

    expect(await dueAfter(longest)).toEqual(longest === 0 ? [1, true] : [0, false]);
    expect(await dueAfter(longest + 1)).toEqual([1, true]);
    expect(await dueAfter(700 * 86_400_000)).toEqual([1, true]);
  });

  it('deletes no message that waits, however old it is, and also none that was replayed', async () => {
    const robot = await world.robot();
    const id = await webhook(robot.wallet, ['event.created']);
    for (const name of ['delivered', 'replayed', 'waits']) await report(robot, name);
    const [delivered, replayed, waits] = await waiting(id);
    for (const message of [delivered, replayed]) {
      await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));
    }
    await world.store.replayDelivery(replayed?.id ?? '', robot.wallet, world.now);
    world.clock.advance(1);
    await world.store.deleteDeliveries(world.now, 10);

    const kept = (await world.store.listDeliveries(id, robot.wallet, 10, null)) ?? [];
    expect(kept.map((one) => one.id)).toEqual([replayed?.id, waits?.id]);
  });

  it('deletes old messages and closed alerts in small steps, and no others', async () => {
    const { id: robot_id, wallet } = await world.robot();
    const id = await webhook(wallet, ['alert.opened']);
    const firing = { wallet, kind: 'battery_low' as const, threshold: 20, robot_id };
    for (let i = 0; i < 3; i += 1) {
      await world.store.changeAlerts([firing], [], world.now);
      if (i === 2) break;
      const open = await world.store.listOpenAlerts('battery_low', [wallet]);
      await world.store.changeAlerts([], open, world.now);
      world.clock.advance(10);
    }
    const before = world.now;
    for (const message of (await waiting(id)).slice(0, 2)) {
      await world.store.recordDelivered(attemptOf(id, message, { status: 204, error: null }));
    }

    expect(await world.store.deleteDeliveries(before, 1)).toBe(true);
    expect(await world.store.deleteDeliveries(before, 10)).toBe(false);
    expect(await world.store.deleteAlerts(before + 1, 1)).toBe(true);
    expect(await world.store.deleteAlerts(before + 1, 10)).toBe(false);
    expect(await waiting(id)).toHaveLength(1);
    const filter = { open: false, limit: 10, before: null };
    expect(await world.store.listAlerts(wallet, filter)).toMatchObject([{ closed_at: null }]);
  });
}
