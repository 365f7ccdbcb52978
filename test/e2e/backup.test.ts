import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Store } from '../../src/server/core/ports.ts';
import { openSqliteStore } from '../../src/server/store/sqlite/open-store.ts';
import { run } from '../support/programs.ts';
import { grant } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const WALLET = '0x00000000000000000000000000000000000000AA';
/** Enough at once for more than 2000 durable writes a second. */
const WRITERS = 128;

describe('a backup of a database under load', () => {
  let folder: string;
  let store: Store;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-backup-'));
    store = await openSqliteStore({
      path: path.join(folder, 'svc.db'),
      clock: systemClock,
      exclusive: true,
      onFatal: (error) => {
        throw error;
      },
    });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const server = (args: string[], dataDir = folder) =>
    run('svc-server', args, { env: { SVC_DATA_DIR: dataDir } });

  /** Grants and moves credits without a pause; `stop` answers when the last write is durable. */
  function startWriting(): { written(): number; stop(): Promise<void> } {
    let written = 0;
    let stopped = false;
    const writers = Array.from({ length: WRITERS }, async () => {
      while (!stopped) {
        await grant(store, WALLET, 1, 3n);
        written += 1;
      }
    });
    return {
      written: () => written,
      async stop() {
        stopped = true;
        await Promise.all(writers);
      },
    };
  }

  it('restores to a moment within it, and every invariant holds', async () => {
    const load = startWriting();
    await waitFor('a database worth copying', () => load.written() > 5_000, 30_000);
    const file = path.join(folder, `${randomUUID()}.db`);
    const [before, startedAt] = [load.written(), performance.now()];

    const backup = await server(['backup', file, '--json']);
    const [after, seconds] = [load.written(), (performance.now() - startedAt) / 1000];
    await load.stop();
    const restored = path.join(folder, 'restored');
    const restore = await server(['restore', file], restored);
    const check = await server(['check', '--json'], restored);
    const show = await server(['credits', 'show', WALLET, '--json'], restored);

    expect([backup.exitCode, restore.exitCode, check.exitCode]).toEqual([0, 0, 0]);
    expect(JSON.parse(check.stdout)).toEqual({ ok: true, findings: [] });
    const anchors = Number(JSON.parse(show.stdout).anchor_quota);
    expect(anchors).toBeGreaterThanOrEqual(before);
    expect(anchors).toBeLessThanOrEqual(after + WRITERS);
    expect((after - before) / seconds).toBeGreaterThan(2_000);
  });

  it('holds the queue of what is restored, and says how to go on', async () => {
    await grant(store, WALLET, 1, 3n);
    const file = path.join(folder, 'backup.db');
    await server(['backup', file]);
    const restored = path.join(folder, 'restored');

    const restore = await server(['restore', file], restored);
    const again = await server(['restore', file], restored);
    const live = await server(['restore', file, '--force']);
    const reconcile = await server(['reconcile'], restored);

    expect(restore.stdout).toContain('svc-server reconcile');
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('--force')]);
    expect([live.exitCode, live.stderr]).toEqual([
      1,
      expect.stringContaining('Another svc-server'),
    ]);
    expect([reconcile.exitCode, reconcile.stderr]).toEqual([
      2,
      expect.stringContaining('SVC_CHAIN_RPC_URL'),
    ]);
  });
});
