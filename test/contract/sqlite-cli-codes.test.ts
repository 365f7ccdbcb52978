import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { createTestClock } from '../support/clock.ts';
import { sha256Hex, source } from './world.ts';

it('a flood of invalid or pending codes delays no writes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-codes-'));
  const clock = createTestClock();
  let commits = 0;
  const store = await openSqliteStore({
    path: join(folder, 'svc.db'),
    clock,
    serves: true,
    onFatal: () => {},
    onCommit: () => {
      commits += 1;
    },
  });
  try {
    const now = clock.now();
    const pending = { deviceHash: sha256Hex('p'), userHash: sha256Hex('u'), name: 'lab' };
    await store.saveCliCode({ ...pending, source, createdAt: now, expiresAt: now + 1 });
    const before = commits;
    const redeemed = await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        const id = `01a1fa88-6262-702f-af77-0aaec0d1b${i + 100}`;
        const session = { id, tokenHash: sha256Hex(id), createdAt: now, expiresAt: now + 1 };
        const deviceHash = i < 50 ? sha256Hex(`${i}`) : pending.deviceHash;
        return store.redeemCliCode({ deviceHash, session, now });
      }),
    );

    expect(redeemed).toEqual([...Array(50).fill('unknown'), ...Array(50).fill('pending')]);
    expect(commits).toBe(before);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
