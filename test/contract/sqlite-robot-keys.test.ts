import { setImmediate as turn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewRobot } from '../../src/server/ports/robots.ts';
import { waitFor } from '../support/wait-for.ts';
import { HeldDisk } from './held-disk.ts';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

describe('a cached key', () => {
  let opened: TemporarySqlite;
  let world: World;
  let robot: NewRobot;
  let disk: HeldDisk | null;

  beforeEach(async () => {
    disk = null;
    world = await World.open(async (clock) => {
      opened = await openTemporarySqlite(clock);
      return opened;
    });
    robot = await world.robot();
    expect(await isKnown()).toBe(true);
  });
  afterEach(async () => {
    disk?.release();
    await world.close();
  });

  async function isKnown(keyHash = robot.keyHash): Promise<boolean> {
    return (await world.store.authenticateRobot(keyHash)) !== null;
  }

  /** As another process does, which changes one key. */
  function endKeyElsewhere(): void {
    const db = new Database(opened.path);
    db.prepare('UPDATE robots SET key_hash = NULL, key_hint = NULL WHERE id = ?').run(robot.id);
    db.close();
  }

  it('is unknown once it is replaced', async () => {
    await world.store.replaceKey(robot.id, robot.wallet, 'another', world.now);

    expect(await isKnown()).toBe(false);
    expect(await isKnown('another')).toBe(true);
  });

  it('is unknown once its robot is deleted', async () => {
    await world.store.deleteRobot(robot.id, robot.wallet, world.now);

    expect(await isKnown()).toBe(false);
  });

  it('is known until its revocation is durable, and unknown from then on', async () => {
    disk = new HeldDisk(`${opened.path}-wal`);
    const replacing = world.store.replaceKey(robot.id, robot.wallet, null, world.now);
    await waitFor('the flush', () => disk?.inodes.length === 1);

    expect(await isKnown()).toBe(true);
    disk.flush();
    await replacing;

    expect(await isKnown()).toBe(false);
  });

  it('is unknown from the next turn on after another process revoked it', async () => {
    endKeyElsewhere();
    await turn();

    expect(await isKnown()).toBe(false);
  });

  it('is unknown after another process revoked it during an open read', async () => {
    disk = new HeldDisk(`${opened.path}-wal`);
    const writing = world.store.createTask(world.newTask(robot.id));
    await waitFor('the flush', () => disk?.inodes.length === 1);
    endKeyElsewhere();
    await turn();
    expect(await isKnown()).toBe(true);

    disk.flush();
    await writing;

    expect(await isKnown()).toBe(false);
  });
});
