import fs from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRobot } from '../../../src/server/ports/robots.ts';
import { HeldDisk } from '../../contract/held-disk.ts';
import { openTemporarySqlite, type TemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { failsWith, World } from '../../contract/world.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('a write on SQLite', () => {
  let opened: TemporarySqlite;
  let world: World;
  let robot: NewRobot;
  let disk: HeldDisk;

  beforeEach(async () => {
    world = await World.open(async (clock) => {
      opened = await openTemporarySqlite(clock);
      return opened;
    });
    robot = await world.robot();
    disk = new HeldDisk(`${opened.path}-wal`);
  });
  afterEach(async () => {
    disk.release();
    await world.close();
  });

  const claimed = (id: string) =>
    world.store.getTask(id, { wallet: robot.wallet }).then((task) => task !== null);

  it('is acknowledged, and visible to reads, once its log is flushed', async () => {
    const task = world.newTask(robot.id);
    let isAnswered = false;
    const writing = world.store.createTask(task).then(() => {
      isAnswered = true;
    });

    await waitFor('the flush', () => disk.inodes.length === 1);
    expect(disk.inodes).toEqual([fs.statSync(`${opened.path}-wal`).ino]);
    expect(await claimed(task.id)).toBe(false);
    expect(isAnswered).toBe(false);

    disk.flush();
    await writing;
    expect(await claimed(task.id)).toBe(true);
  });

  it('is not acknowledged if the disk fails, and the store reports it', async () => {
    const task = world.newTask(robot.id);
    const writing = world.store.createTask(task);
    await waitFor('the flush', () => disk.inodes.length === 1);

    disk.fail(Object.assign(new Error('i/o error'), { code: 'EIO' }));

    await expect(writing).rejects.toMatchObject(failsWith('storage_unavailable'));
    expect(opened.faults).toMatchObject([{ code: 'EIO' }]);
    expect(await claimed(task.id)).toBe(false);
  });

  it('is visible to no read before its flush, while an erasure waits to empty the log', async () => {
    const task = world.newTask(robot.id);
    const writing = world.store.createTask(task);
    await waitFor('the flush', () => disk.inodes.length === 1);

    const deleting = world.store.deleteRobot(robot.id, robot.wallet, world.now);
    expect(await claimed(task.id)).toBe(false);
    const flushing = setInterval(() => disk.flush(), 1);
    await Promise.all([writing, deleting]);
    clearInterval(flushing);

    expect(fs.statSync(`${opened.path}-wal`).size).toBe(0);
  });

  it('is visible to no read if the disk fails, although an erasure waits to empty the log', async () => {
    const task = world.newTask(robot.id);
    const writing = world.store.createTask(task);
    await waitFor('the flush', () => disk.inodes.length === 1);
    const deleting = world.store.deleteRobot(uuid(), robot.wallet, world.now);

    disk.fail(Object.assign(new Error('i/o error'), { code: 'EIO' }));
    await Promise.allSettled([writing, deleting]);
    await pause(50);

    expect(await claimed(task.id)).toBe(false);
  });
});
