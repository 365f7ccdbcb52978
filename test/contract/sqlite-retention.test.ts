import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/protocol/limits.ts';
import type { NewRobot } from '../../src/server/core/robot-store.ts';
import { openTemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

/** More than one step may take by count. */
const ALL = 1000;
const ROWS = 300;

let world: World;
let robot: NewRobot;
beforeEach(async () => {
  world = await World.open(openTemporarySqlite);
  robot = await world.robot(await world.account(1_000));
});
afterEach(() => world.close());

const document = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - 11) });

async function recordLargest(): Promise<void> {
  const sample = () => ({
    id: uuid(),
    recordedAt: world.now - 1,
    batteryPct: null,
    state: null,
    metrics: document(limits.metricsBytes),
  });
  const { id: robotId, keyHash } = robot;
  for (let rows = 0; rows < ROWS; rows += 50) {
    const samples = Array.from({ length: 50 }, sample);
    await world.store.recordSamples({ robotId, keyHash, samples, now: world.now });
  }
}

async function logLargest(): Promise<void> {
  const event = () => ({
    id: uuid(),
    robotId: robot.id,
    keyHash: robot.keyHash,
    eventType: 'info',
    severity: 'info' as const,
    message: '',
    payload: document(limits.payloadBytes),
    occurredAt: null,
    createdAt: world.now - 1,
  });
  const logged = Array.from({ length: ROWS }, () => world.store.createEvent(event()));
  await Promise.all(logged);
}

/** How many steps it took. */
async function steps(step: () => Promise<boolean>): Promise<number> {
  let count = 1;
  while (await step()) count += 1;
  return count;
}

describe('one step, however large the rows', () => {
  it('deletes no more samples than a short commit does', async () => {
    await recordLargest();

    let cursor: string | null = null;
    const count = await steps(async () => {
      cursor = await world.store.deleteSamples(world.now, ALL, cursor);
      return cursor !== null;
    });

    // The last two look for the next robot.
    expect(count).toBeGreaterThan(3);
  });

  it('deletes no more events than a short commit does', async () => {
    await logLargest();

    expect(await steps(() => world.store.deleteEvents(world.now, ALL))).toBeGreaterThan(1);
  });

  it('deletes no more of what a deleted robot left behind than a short commit does', async () => {
    await recordLargest();
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    // One for the samples, two for roll-ups and the note of the robot, one that finds nothing.
    expect(await steps(() => world.store.deleteTraces(ALL))).toBeGreaterThan(4);
  });

  it('erases no more evidence than a short commit does', async () => {
    await world.lease();
    for (let i = 0; i < 40; i += 1) {
      const task = await world.task(robot.id);
      await world.store.queueCompletion(world.completion(task, { seen: `${i}`.padEnd(250_000) }));
    }

    expect(await steps(() => world.store.eraseOldProofs(world.now + 1, ALL))).toBeGreaterThan(1);
  });
});
