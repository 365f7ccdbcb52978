import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { createTestClock } from '../support/clock.ts';
import { sha256Hex } from './world.ts';

it('a flood of codes that were made up takes no turn of those who write', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-codes-'));
  const clock = createTestClock();
  let commits = 0;
  const store = await openSqliteStore({
    path: join(folder, 'svc.db'),
    clock,
    exclusive: true,
    onFatal: () => {},
    onCommit: () => {
      commits += 1;
    },
  });
  try {
    const redeemed = await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        const id = `01a1fa88-6262-702f-af77-0aaec0d1b${i + 100}`;
        const now = clock.now();
        const session = { id, tokenHash: sha256Hex(id), createdAt: now, expiresAt: now + 1 };
        return store.redeemCliCode({ codeHash: sha256Hex(`${i}`), challenge: 'c', session, now });
      }),
    );

    expect(redeemed).toEqual(Array(100).fill(null));
    expect(commits).toBe(0);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
