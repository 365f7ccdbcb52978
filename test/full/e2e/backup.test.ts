import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAnvil } from '../../../src/server/commands/dev-chain.ts';
import { anvilAccounts } from '../../support/anvil.ts';
import { type Load, startLoad } from '../../support/load.ts';
import { run, startServerProgram } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { signInAt } from '../../support/server-process.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Together they stay far below the 600 calls a minute of each. */
const ROBOTS = 200;
/** Writes during the backup that show that it holds up none. How many a second there are is the machine's affair. */
const LEAST_WRITES = 1_000;

describe('a backup of a live server', () => {
  let folder: string;
  let anvil: Awaited<ReturnType<typeof startAnvil>>;
  let server: { url: string; child: ChildProcess };
  let load: Load | undefined;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'svc-backup-'));
    anvil = await startAnvil({ blockTime: 0.1 });
    server = await startServerProgram({
      SVC_DATA_DIR: folder,
      SVC_CHAIN_RPC_URL: anvil.url,
      SVC_PUBLIC_RPC_URL: anvil.url,
      SVC_ANCHOR_PRIVATE_KEY: anvilAccounts[0].privateKey,
      SVC_SIGNUP_ANCHORS: '100000',
      SVC_SIGNUP_GAS_WEI: '1000000000000000000000',
      SVC_LOG_LEVEL: 'info',
    });
  });
  afterEach(async () => {
    await load?.stop();
    load = undefined;
    server.child.kill('SIGKILL');
    await anvil.close();
    await rm(folder, { recursive: true });
  });

  const commandBy = (start: typeof run, args: string[], dataDir = folder) =>
    start('svc-server', args, { env: { SVC_DATA_DIR: dataDir } });
  const command = (args: string[], dataDir?: string) => commandBy(runInProcess, args, dataDir);

  it('under load restores to a moment within the load, and every invariant holds', async () => {
    const isReady = async () =>
      (await (await fetch(`${server.url}/readyz`)).text()).includes('"ready"');
    await waitFor('fees to be known', isReady, 60_000);
    const { owner } = await signInAt(server.url);
    const made = await Promise.all(
      Array.from({ length: ROBOTS }, (_, i) =>
        owner.call('createRobot', { body: { name: `arm ${i}` } }),
      ),
    );
    const running = startLoad(
      server.url,
      made.map(({ body }) => String(body.api_key)),
    );
    load = running;
    await waitFor('a database worth copying', () => running.accepted() > 20_000, 60_000);
    await waitFor('an anchor', () => running.verified() > 0, 60_000);
    const file = path.join(folder, 'backup.db');
    const before = running.accepted();

    // In this process it would hold up the load.
    const backup = await commandBy(run, ['backup', file, '--json']);
    const [after, during] = [running.sent(), running.accepted() - before];
    await running.stop();
    server.child.kill('SIGTERM');
    await once(server.child, 'exit');
    const restored = path.join(folder, 'restored');
    const restore = await commandBy(run, ['restore', file], restored);
    const check = await command(['check', '--json'], restored);
    const live = await command(['check', '--json']);

    expect([backup.exitCode, restore.exitCode]).toEqual([0, 0]);
    expect(JSON.parse(check.stdout)).toMatchObject({ ok: true, findings: [] });
    expect(JSON.parse(live.stdout)).toMatchObject({ ok: true, findings: [] });
    const written = writesIn(path.join(restored, 'svc.db'));
    expect(written).toBeGreaterThanOrEqual(before);
    expect(written).toBeLessThanOrEqual(after);
    expect(running.refused()).toEqual([]);
    expect(during).toBeGreaterThan(LEAST_WRITES);
  });

  it('holds the queue of the restored database, and names the next step', async () => {
    const file = path.join(folder, 'backup.db');
    await command(['backup', file]);
    const restored = path.join(folder, 'restored');

    const restore = await command(['restore', file], restored);
    const again = await command(['restore', file], restored);
    const live = await command(['restore', file, '--force']);
    const reconcile = await command(['reconcile'], restored);

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

/** As `Load` counts them. */
function writesIn(file: string): number {
  const db = new Database(file, { readonly: true });
  const total = db
    .prepare<[], number>(
      `SELECT (SELECT count(*) FROM telemetry) + (SELECT count(*) FROM events) +
         (SELECT count(*) FROM tasks) + (SELECT count(*) FROM completions)`,
    )
    .pluck()
    .get();
  db.close();
  return total ?? 0;
}
