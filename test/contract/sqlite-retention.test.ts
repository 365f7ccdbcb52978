import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

/** More than one step may take by count. */
const ALL = 1000;
const ROWS = 50;
/** A commit ends once it took 5 ms, and each row takes one here. */
const ROWS_PER_STEP = 5;

let world: World;
let robot: NewRobot;
beforeEach(async () => {
  world = await World.open(openTemporarySqlite);
  robot = await world.robot(await world.account(1_000));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await world.close();
});

function eachRowTakesAMillisecond(): void {
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1;
    return now;
  });
}

async function recordSamples(): Promise<void> {
  const sample = () => ({
    id: uuid(),
    recordedAt: world.now - 1,
    batteryPct: null,
    state: null,
    metrics: '{}',
  });
  const { id: robotId, keyHash } = robot;
  const samples = Array.from({ length: ROWS }, sample);
  await world.store.recordSamples({ robotId, keyHash, samples, now: world.now });
}

async function logEvents(): Promise<void> {
  const event = () => ({
    id: uuid(),
    robotId: robot.id,
    keyHash: robot.keyHash,
    eventType: 'info',
    severity: 'info' as const,
    message: '',
    payload: '{}',
    occurredAt: null,
    createdAt: world.now - 1,
  });
  const logged = Array.from({ length: ROWS }, () => world.store.createEvent(event()));
  await Promise.all(logged);
}

/** How many steps it took. */
async function steps(step: () => Promise<boolean>): Promise<number> {
  eachRowTakesAMillisecond();
  let count = 1;
  while (await step()) count += 1;
  return count;
}

describe('one step on a disk of any speed', () => {
  it('deletes no more samples than fit into a short commit', async () => {
    await recordSamples();

    let cursor: string | null = null;
    const count = await steps(async () => {
      cursor = await world.store.deleteSamples(world.now, ALL, cursor);
      return cursor !== null;
    });

    // The last looks for the next robot.
    expect(count).toBeGreaterThan(ROWS / ROWS_PER_STEP);
  });

  it('deletes no more events than fit into a short commit', async () => {
    await logEvents();

    expect(await steps(() => world.store.deleteEvents(world.now, ALL))).toBeGreaterThan(
      ROWS / ROWS_PER_STEP,
    );
  });

  it('deletes no more remains of a deleted robot than fit into a short commit', async () => {
    await recordSamples();
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    const count = await steps(() => world.store.deleteTraces(robot.wallet, ALL));
    expect(count).toBeGreaterThan(ROWS / ROWS_PER_STEP);
  });

  it('deletes all remains of a deleted robot if they are few', async () => {
    await recordSamples();
    await logEvents();
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);
    vi.spyOn(performance, 'now').mockReturnValue(0);
    await world.store.deleteTraces(robot.wallet, ALL);

    expect(await world.store.nextWithTraces('')).toBeNull();
  });

  it('erases no more evidence than fits into a short commit', async () => {
    await world.lease();
    for (let i = 0; i < ROWS; i += 1) {
      const task = await world.task(robot.id);
      await world.store.queueCompletion(world.completion(task, { seen: i }));
    }

    expect(await steps(() => world.store.eraseOldProofs(world.now + 1, ALL))).toBeGreaterThan(
      ROWS / ROWS_PER_STEP,
    );
  });
});
