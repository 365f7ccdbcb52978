import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/server/ports/store.ts';
import { openSqliteStore } from '../../../src/server/store/sqlite/open-store.ts';
import { failsWith } from '../../contract/world.ts';
import { createTestClock } from '../../support/clock.ts';

let folder: string;
let path: string;
const opened: Store[] = [];
const clock = createTestClock();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-file-'));
  path = join(folder, 'svc.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function open(serves: boolean): Promise<Store> {
  const store = await openSqliteStore({ path, clock, serves, onFatal: () => {} });
  opened.push(store);
  return store;
}

describe('one server', () => {
  it('releases the lock with its process, even if it is killed', async () => {
    await (await open(true)).close();
    const child = holdLock(path);
    try {
      await said(child, 'held');
      await expect(open(true)).rejects.toMatchObject(failsWith('database_locked'));

      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;

      await (await open(true)).probe();
    } finally {
      child.kill('SIGKILL');
    }
  });
});

/** A process that holds the same lock as a server, by the same means. */
function holdLock(database: string): ChildProcess {
  const script = `
    const lock = new (require('better-sqlite3'))(process.argv[1] + '.lock');
    lock.pragma('locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE');
    console.log('held');
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['-e', script, database], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function said(child: ChildProcess, word: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (data) => String(data).includes(word) && resolve());
    child.once('exit', () => reject(new Error('The process ended early')));
  });
}
