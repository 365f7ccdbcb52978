import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readReport } from '../../src/server/core/report.ts';
import type { NewEvent } from '../../src/server/ports/events.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { newWallet, type OpenStore, World } from './world.ts';

const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();

export function reportContract(open: OpenStore): void {
  let world: World;
  let robot: NewRobot;
  beforeEach(async () => {
    world = await World.open(open);
    robot = await world.robot(await world.account(1000, 10n ** 20n));
  });
  afterEach(() => world.close());

  const report = (query: { from?: string; to?: string; fleet_id?: string } = {}) =>
    readReport(world, robot.wallet, query);
  const samples = (states: (string | null)[], at: number, { id, keyHash } = robot) =>
    world.store.recordSamples({
      robotId: id,
      keyHash,
      samples: states.map((state, i) => {
        return { id: uuid(), recordedAt: at + i, batteryPct: null, state, metrics: '{}' };
      }),
      now: world.now,
    });
  const error = (changes: Partial<NewEvent> = {}, { id, keyHash } = robot) =>
    world.store.createEvent({
      id: uuid(),
      robotId: id,
      keyHash,
      eventType: 'stall',
      severity: 'error',
      message: '',
      payload: '{}',
      occurredAt: null,
      createdAt: world.now,
      ...changes,
    });

  it('divides each reported hour by the states of its samples, and adds none to the others', async () => {
    const hour = world.now - 5 * HOUR;
    await samples(['busy', 'busy', 'busy', 'idle'], hour);
    await samples(['idle', null], hour + HOUR);
    await samples(['busy'], hour - 7 * 24 * HOUR);

    const { hours, robots } = await report();

    expect(hours).toBe(168);
    expect(robots).toEqual([
      {
        robot_id: robot.id,
        name: robot.name,
        fleet_id: null,
        reported_hours: 2,
        state_hours: { busy: 0.75, idle: 0.75 },
      },
    ]);
  });

  it('counts errors by type and occurrence, also those delivered later', async () => {
    await error({ occurredAt: iso(world.now - 30 * HOUR) });
    await error({ occurredAt: iso(world.now - HOUR), eventType: 'jam' });
    await error({ occurredAt: iso(world.now - 2 * HOUR), eventType: 'jam' });
    await error({ severity: 'warn', occurredAt: iso(world.now - HOUR) });
    await error({ createdAt: world.now - 20 * HOUR });

    const period = { from: iso(world.now - 24 * HOUR), to: iso(world.now) };

    expect((await report(period)).errors).toEqual({
      total: 3,
      by_type: [
        { event_type: 'jam', events: 2 },
        { event_type: 'stall', events: 1 },
      ],
    });
  });

  it('counts the tasks claimed in the period by status and outcome', async () => {
    await world.task(robot.id);
    world.clock.advance(31 * 24 * HOUR);
    const lease = await world.lease();
    await world.queued(robot.id, 1);
    const [failed] = [await world.task(robot.id), await world.task(robot.id)];
    await world.store.queueCompletion({ ...world.completion(failed), outcome: 'failed' });
    await world.settled(lease);

    expect((await report()).tasks).toEqual([
      { status: 'claimed', outcome: null, tasks: 1 },
      { status: 'verified', outcome: null, tasks: 1 },
      { status: 'verified', outcome: 'failed', tasks: 1 },
    ]);
  });

  it('has the cost that the balance has lost in the period', async () => {
    const lease = await world.lease();
    const before = await world.store.getBalance(robot.wallet);
    await world.queued(robot.id, 4);
    await world.settled(lease);
    const after = await world.store.getBalance(robot.wallet);
    const lost = (before?.gasCreditWei ?? 0n) - (after?.gasCreditWei ?? 0n);

    const { cost } = await report();
    world.clock.advance(8 * 24 * HOUR);
    const later = await report();

    expect(lost).toBeGreaterThan(0n);
    expect(cost).toEqual({
      anchors: 4,
      gas_wei: String(lost),
      gas_wei_per_anchor: String(lost / 4n),
    });
    expect(later.cost).toEqual({ anchors: 0, gas_wei: '0', gas_wei_per_anchor: null });
  });

  it('covers one fleet, or all robots of the account and no others', async () => {
    const { id: fleetId } = await world.fleet(robot.wallet);
    const member = await world.robot(robot.wallet);
    await world.store.patchRobot(member.id, robot.wallet, { fleetId }, world.now);
    const lease = await world.lease();
    for (const one of [robot, member, await world.robot()]) {
      await samples(['busy'], world.now, one);
      await error({}, one);
      await world.queued(one.id, 1);
    }
    await world.settled(lease);

    const [all, some] = [await report(), await report({ fleet_id: fleetId })];

    const counts = ({ robots, errors, tasks, cost }: typeof all) => [
      robots.length,
      errors.total,
      tasks[0]?.tasks,
      cost.anchors,
    ];
    expect(counts(all)).toEqual([2, 2, 2, 2]);
    expect(counts(some)).toEqual([1, 1, 1, 1]);
    expect(some.robots[0]?.robot_id).toBe(member.id);
    await expect(readReport(world, newWallet(), { fleet_id: fleetId })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('sums up more rows than it reads at once', async () => {
    const many = 251;
    const lease = await world.lease();
    for (let i = 0; i < many; i += 1) await samples(['busy'], world.now - i * HOUR);
    for (let i = 0; i < many; i += 1) await error();
    await world.queued(robot.id, many);
    await world.settled(lease);

    const { robots, errors, tasks, cost } = await report({ from: iso(world.now - 30 * 24 * HOUR) });

    expect(robots[0]?.reported_hours).toBe(many);
    expect(errors.total).toBe(many);
    expect(tasks).toEqual([{ status: 'verified', outcome: null, tasks: many }]);
    expect(cost.anchors).toBe(many);
  });
}
