import { readFile } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

const MARK = 'the visitor at gate 7';

it.each([
  ['short', MARK],
  ['longer than a page', `${MARK} `.repeat(5_000)],
])('leaves no trace of erased evidence in the file: %s', async (_, seen) => {
  const files: TemporarySqlite[] = [];
  const world = await World.open(async (clock) => {
    const temporary = await openTemporarySqlite(clock);
    files.push(temporary);
    return temporary;
  });
  const path = files[0]?.path ?? '';
  const stored = async () => {
    const db = new Database(path);
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.close();
    return (await readFile(path)).includes(MARK);
  };
  try {
    await world.lease();
    const robot = await world.robot();
    const task = await world.task(robot.id);
    await world.store.queueCompletion(world.completion(task, { seen }));
    expect(await stored()).toBe(true);

    await world.store.eraseProof(task.id, robot.wallet);

    expect(await stored()).toBe(false);
  } finally {
    await world.close();
  }
});
