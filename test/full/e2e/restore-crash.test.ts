import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { run } from '../../support/programs.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { killServers, spawnServer } from '../../support/server-process.ts';

const WALLET = '0x00000000000000000000000000000000000000AA';
const NO_CHAIN = 'http://127.0.0.1:1';
const preload = pathToFileURL(path.resolve('test/support/file-call-crash.js')).href;

describe('a restore that is killed', () => {
  let folder: string;
  let backup: string;
  let database: string;
  let prepared: string;
  /** As an unclean stop leaves it: what was granted last is in the write-ahead log alone. */
  beforeAll(async () => {
    prepared = await mkdtemp(path.join(tmpdir(), 'svc-restore-crash-'));
    use(prepared);
    const server = await spawnServer({ dataDir: folder, rpcUrl: NO_CHAIN });
    await grant(5);
    expect((await command(['backup', backup])).exitCode).toBe(0);
    await grant(1);
    await server.kill('SIGKILL');
    expect(existsSync(`${database}-wal`)).toBe(true);
  });
  beforeEach(async () => {
    use(await mkdtemp(path.join(tmpdir(), 'svc-restore-crash-')));
    await cp(prepared, folder, { recursive: true });
  });
  afterEach(async () => {
    killServers();
    await rm(folder, { recursive: true });
  });
  afterAll(() => rm(prepared, { recursive: true }));

  function use(dataDir: string): void {
    folder = dataDir;
    [backup, database] = [path.join(folder, 'backup.db'), path.join(folder, 'svc.db')];
  }

  const command = (args: string[]) =>
    runInProcess('svc-server', args, { env: { SVC_DATA_DIR: folder } });

  const tryToGrant = (anchors: number) =>
    command(['credits', 'grant', WALLET, '--anchors', String(anchors), '--note', 'test', '--new']);

  async function grant(anchors: number): Promise<void> {
    expect((await tryToGrant(anchors)).exitCode).toBe(0);
  }

  async function granted(): Promise<number> {
    const { stdout } = await command(['credits', 'show', WALLET, '--json']);
    return JSON.parse(stdout).anchor_quota;
  }

  const restoreKilledAt = (rename: number) =>
    run('svc-server', ['restore', backup, '--force'], {
      env: {
        SVC_DATA_DIR: folder,
        NODE_OPTIONS: `--import=${preload}`,
        KILL_AT: `renameSync ${rename}`,
      },
    });

  function anchorsIn(file: string): number {
    const db = new Database(file, { fileMustExist: true });
    const anchors = db.prepare<[], number>('SELECT anchor_quota FROM accounts').pluck().get();
    db.close();
    return anchors ?? 0;
  }

  /** The database that was set aside first. */
  const setAside = async () => {
    const names = (await readdir(folder)).sort();
    return names.find((name) => /^svc\.db\.replaced\.\d+$/.test(name)) ?? 'none';
  };

  it('has changed nothing before its copy is ready', async () => {
    const killed = await restoreKilledAt(1);
    await spawnServer({ dataDir: folder, rpcUrl: NO_CHAIN });

    expect(killed.exitCode).toBeNull();
    expect(await granted()).toBe(6);
    expect(await setAside()).toBe('none');
  });

  it.each([2, 3, 4])('is completed by the next start, if killed at rename %i', async (rename) => {
    const killed = await restoreKilledAt(rename);
    const beside = await tryToGrant(1);
    const server = await spawnServer({ dataDir: folder, rpcUrl: NO_CHAIN });

    expect([killed.exitCode, beside.exitCode]).toEqual([null, 1]);
    expect(await granted()).toBe(5);
    const ready = await fetch(`${server.url}/readyz`);
    expect(await ready.json()).toMatchObject({ degraded: expect.arrayContaining(['restored']) });
    expect(anchorsIn(path.join(folder, await setAside()))).toBe(6);
    expect((await command(['check'])).exitCode).toBe(0);
  });

  for (const rename of [2, 3, 4]) {
    it(`is reported by commands next to a server, if killed at rename ${rename}`, async () => {
      await restoreKilledAt(rename);

      const refused = await Promise.all([
        command(['backup', path.join(folder, 'second.db')]),
        tryToGrant(1),
        command(['check']),
      ]);

      const says = expect.stringContaining('was interrupted');
      expect(refused).toEqual(
        Array(3).fill(expect.objectContaining({ exitCode: 1, stderr: says })),
      );
    });

    it(`is completed by migrate, if killed at rename ${rename}`, async () => {
      await restoreKilledAt(rename);

      const migrated = await command(['migrate']);

      expect([migrated.exitCode, migrated.stderr]).toEqual([0, '']);
      expect(anchorsIn(database)).toBe(5);
      expect(anchorsIn(path.join(folder, await setAside()))).toBe(6);
    });
  }

  it('is completed by the next restore as well', async () => {
    await restoreKilledAt(3);

    const again = await command(['restore', backup, '--force']);

    expect([again.exitCode, again.stderr]).toEqual([0, '']);
    expect(anchorsIn(database)).toBe(5);
    expect(anchorsIn(path.join(folder, await setAside()))).toBe(6);
    expect((await readdir(folder)).filter((name) => /incoming|restoring/.test(name))).toEqual([]);
  });
});
