import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { openTemporarySqlite, type TemporarySqlite } from '../../contract/temporary-sqlite.ts';
import { run } from '../../support/programs.ts';

const preload = pathToFileURL(path.resolve('test/support/file-call-crash.js')).href;

describe('a backup that is killed', () => {
  let live: TemporarySqlite;
  let backups: string;
  beforeEach(async () => {
    live = await openTemporarySqlite(systemClock);
    backups = await mkdtemp(path.join(tmpdir(), 'svc-backups-'));
  });
  afterEach(async () => {
    await live.close();
    await rm(backups, { recursive: true });
  });

  const backup = (name: string, env: Record<string, string> = {}) =>
    run('svc-server', ['backup', path.join(backups, name)], {
      env: { SVC_DATA_DIR: path.dirname(live.path), ...env },
    });
  const killed = (name: string) =>
    backup(name, { NODE_OPTIONS: `--import=${preload}`, KILL_AT: 'linkSync 1' });

  it('leaves an incomplete copy, which the next backup replaces', async () => {
    const { exitCode } = await killed('monday.db');
    const left = await readdir(backups);

    const next = await backup('monday.db');

    expect([exitCode, next.exitCode]).toEqual([null, 0]);
    expect(left).toEqual([expect.stringMatching(/^monday\.db\.partial-/)]);
    expect(await readdir(backups)).toContain('monday.db');
  });
});
