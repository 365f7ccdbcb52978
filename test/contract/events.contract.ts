import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Severity } from '../../src/protocol/telemetry.ts';
import type { EventFilter, EventRecord, NewEvent } from '../../src/server/ports/events.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { newWallet, type OpenStore, sha256Hex, World } from './world.ts';

export function eventContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot();
  });
  afterEach(() => world.close());

  const newEvent = (changes: Partial<NewEvent> = {}, from = robot): NewEvent => ({
    id: uuid(),
    robotId: from.id,
    keyHash: from.keyHash,
    eventType: 'state_change',
    severity: 'info',
    message: '',
    payload: '{}',
    occurredAt: null,
    createdAt: world.now,
    ...changes,
  });
  const logged = async (changes: Partial<NewEvent> = {}, from = robot): Promise<EventRecord> => {
    const created = await world.store.createEvent(newEvent(changes, from));
    if (created.outcome !== 'created') throw new Error(`Not logged: ${created.outcome}`);
    return created.event;
  };
  const list = (filter: Partial<EventFilter> = {}, limit = 100, before: number | null = null) =>
    world.store.listEvents(
      { wallet: robot.wallet, robotId: null, severity: null, eventType: null, ...filter },
      { limit, before },
    );

  describe('logging', () => {
    it('stores the event unchanged', async () => {
      const event = newEvent({
        severity: 'error',
        message: 'stalled',
        payload: '{"joint":3}',
        occurredAt: '2026-01-15T10:00:00+02:00',
      });

      const created = await world.store.createEvent(event);

      const { keyHash: _, ...content } = event;
      const stored = { ...content, seq: expect.any(Number) };
      expect(created).toEqual({ outcome: 'created', event: stored });
      expect(await list()).toEqual([stored]);
    });

    it('returns the stored event if it repeats', async () => {
      const event = newEvent();
      const first = await world.store.createEvent(event);
      world.clock.advance(1000);

      const again = await world.store.createEvent({ ...event, createdAt: world.now });

      expect(again).toEqual({ ...first, outcome: 'repeated' });
      expect(await list()).toHaveLength(1);
    });

    it.each<Partial<NewEvent>>([
      { eventType: 'error' },
      { severity: 'warn' },
      { message: 'x' },
      { payload: '{"a":1}' },
      { occurredAt: '2026-01-15' },
    ])('answers id_conflict if it repeats with %j', async (change) => {
      const event = newEvent();
      await world.store.createEvent(event);

      expect(await world.store.createEvent({ ...event, ...change })).toEqual({
        outcome: 'id_conflict',
      });
    });

    it('distinguishes events by robot', async () => {
      const id = uuid();
      await logged({ id });

      await logged({ id, message: 'other' }, await world.robot(robot.wallet));

      expect(await list()).toHaveLength(2);
    });

    it('answers key_revoked for a revoked key', async () => {
      const event = newEvent({ keyHash: sha256Hex('an older key') });

      expect(await world.store.createEvent(event)).toEqual({ outcome: 'key_revoked' });
      expect(await list()).toEqual([]);
    });

    it('records that the robot was seen', async () => {
      world.clock.advance(1000);
      await logged();

      const found = await world.store.getRobot(robot.id, robot.wallet);
      expect(found?.lastSeenAt).toBe(world.now);
    });
  });

  describe('listing', () => {
    it('filters by robot, severity and type, in any combination', async () => {
      const other = await world.robot(robot.wallet);
      await logged({}, await world.robot());
      const all: EventRecord[] = [];
      for (const from of [robot, other]) {
        for (const severity of ['info', 'warn', 'error'] satisfies Severity[]) {
          for (const eventType of ['error', 'info']) {
            all.unshift(await logged({ severity, eventType }, from));
          }
        }
      }

      for (const robotId of [null, robot.id, other.id]) {
        for (const severity of [null, 'info', 'warn', 'error'] satisfies (Severity | null)[]) {
          for (const eventType of [null, 'error', 'info', 'none']) {
            const expected = all.filter(
              (event) =>
                (robotId === null || event.robotId === robotId) &&
                (severity === null || event.severity === severity) &&
                (eventType === null || event.eventType === eventType),
            );
            expect(await list({ robotId, severity, eventType })).toEqual(expected);
          }
        }
      }
    });

    it('omits events of a deleted robot, and pages through the others', async () => {
      const sibling = await world.robot(robot.wallet);
      const kept: EventRecord[] = [];
      for (const severity of ['info', 'error', 'info', 'warn'] satisfies Severity[]) {
        await logged({ severity, eventType: 'error' });
        kept.unshift(await logged({ severity, eventType: 'error' }, sibling));
      }
      await logged();

      await world.store.deleteRobot(robot.id, robot.wallet, world.now);

      expect(await list()).toEqual(kept);
      expect(await list({ eventType: 'error' }, 2)).toEqual(kept.slice(0, 2));
      expect(await list({ severity: 'info' }, 1, kept[1]?.seq)).toEqual([kept[3]]);
      expect(await list({ robotId: robot.id })).toBeNull();
    });

    it('pages without loss or duplicates while events arrive', async () => {
      const events: EventRecord[] = [];
      for (let i = 0; i < 10; i += 1) {
        events.unshift(await logged({ severity: i % 3 === 0 ? 'warn' : 'info' }));
      }

      const read: EventRecord[] = [];
      for (;;) {
        const page = await list({}, 3, read.at(-1)?.seq ?? null);
        if (!page || page.length === 0) break;
        read.push(...page);
        await logged();
      }

      expect(read).toEqual(events);
    });

    it('shows events to their own account only', async () => {
      await logged();

      expect(await list({ wallet: newWallet() })).toEqual([]);
      expect(await list({ wallet: newWallet(), robotId: robot.id })).toBeNull();
    });
  });
}
