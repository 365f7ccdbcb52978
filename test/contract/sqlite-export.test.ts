import { expect, it, onTestFinished } from 'vitest';
import { openExport } from '../../src/server/store/sqlite/files/export.ts';
import { sizeOf } from '../../src/server/store/transfer.ts';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.ts';
import { World } from './world.ts';

it('reads a table in pages limited by rows and by bytes', async () => {
  let opened: TemporarySqlite | undefined;
  const world = await World.open(async (clock) => {
    opened = await openTemporarySqlite(clock);
    return opened;
  });
  onTestFinished(() => world.close());
  const robot = await world.robot();
  for (const length of [10, 10, 10, 10, 3000, 1000, 1000, 10]) {
    const expectedResult = 'x'.repeat(length);
    await world.store.createTask(world.newTask(robot.id, { expectedResult }));
  }
  await world.store.close();
  if (opened === undefined) throw new Error('There is no database');
  const source = openExport(opened.path, 'nowhere');
  onTestFinished(() => source.close());
  const tasks = { name: 'tasks', key: ['id'], columns: source.columnsOf('tasks') };

  const pages = [...source.pages(tasks, { rows: 3, bytes: 2_000 })];

  expect(pages.map((page) => page.length)).toEqual([3, 2, 2, 1]);
  const withoutLast = pages.map((page) => page.slice(0, -1).map(sizeOf));
  for (const sizes of withoutLast) {
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2_000);
  }
});
