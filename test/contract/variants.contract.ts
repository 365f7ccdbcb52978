import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Lease, NewAttempt, Variant } from '../../src/server/ports/anchoring.ts';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { failsWith, type OpenStore, randomHash, World } from './world.ts';

export function variantContract(open: OpenStore): void {
  let world: World;
  let lease: Lease;
  let robot: NewRobot;
  let attempt: NewAttempt;
  beforeEach(async () => {
    world = await World.open(open);
    lease = await world.lease();
    robot = await world.robot();
    await world.queued(robot.id, 1);
    attempt = await world.committed(lease);
  });
  afterEach(async () => {
    expect(await world.store.checkInvariants()).toEqual([]);
    await world.close();
  });

  const add = (variant: Variant, replaces = attempt.variant.txHash) =>
    world.store.addVariant(lease, attempt.id, variant, replaces, world.now);
  const variants = async () => (await world.store.listOpenAttempts(lease))[0]?.variants;

  it('are all kept, oldest first', async () => {
    const second = await world.replaced(lease, attempt);
    const third = world.variant(second);
    await add(third, second.txHash);

    await world.reopen();
    lease = await world.regained(lease);

    expect(await variants()).toEqual([attempt.variant, second, third]);
  });

  it('are shown by the newest until one is mined, then by that one', async () => {
    const second = await world.replaced(lease, attempt);
    const txHash = async () => {
      const task = await world.store.getTask(attempt.leaves[0]?.taskId ?? '', {
        robotId: robot.id,
      });
      return task?.completion?.txHash;
    };
    expect(await txHash()).toBe(second.txHash);

    await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);

    expect(await txHash()).toBe(attempt.variant.txHash);
  });

  it('are adopted from the chain at any price, only once', async () => {
    const cheaper = world.variant(attempt.variant, { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });

    await world.store.adoptVariant(lease, attempt.id, cheaper, world.now);
    await world.store.adoptVariant(lease, attempt.id, cheaper, world.now);

    expect(await variants()).toEqual([attempt.variant, cheaper]);
  });

  it('count as one attempt', async () => {
    await world.replaced(lease, attempt);

    const task = await world.store.getTask(attempt.leaves[0]?.taskId ?? '', { robotId: robot.id });
    expect(task?.completion?.attempts).toBe(1);
  });

  it.each([
    ['the fee stays', { maxFeePerGas: 21n }],
    ['the tip stays', { maxPriorityFeePerGas: 1n }],
  ])('are refused if %s', async (_what, changes) => {
    await expect(add(world.variant(attempt.variant, changes))).rejects.toThrow();

    expect(await variants()).toEqual([attempt.variant]);
  });

  it('are refused if another is the newest', async () => {
    const second = await world.replaced(lease, attempt);

    await expect(add(world.variant(second))).rejects.toThrow();
    await expect(add(world.variant(second), randomHash())).rejects.toThrow();

    expect(await variants()).toEqual([attempt.variant, second]);
  });

  it('are refused once one is mined', async () => {
    await world.store.recordInclusion(lease, attempt.id, world.mined(attempt), world.now);

    await expect(add(world.variant(attempt.variant))).rejects.toMatchObject(
      failsWith('illegal_transition'),
    );

    expect(await variants()).toEqual([attempt.variant]);
  });
}
