// What `npm test` consists of, so that no test of it can race (docs/testing.md).
import childProcess from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startTestChain } from './support/anvil.ts';
import { askRun } from './support/test-run.ts';

const own = path.basename(import.meta.filename);

async function testFiles(): Promise<string[]> {
  const names = await readdir(import.meta.dirname, { recursive: true });
  return names.filter(
    (name) => /\.(test|contract)\.ts$/.test(name) && !/^(full|smoke)\//.test(name) && name !== own,
  );
}

describe('npm test', () => {
  it.each([
    ['starts a process', /child_process|worker_threads/],
    ['waits for a fixed time', /setTimeout[^;]*timers\/promises|\bsleep\(|new Promise.*setTimeout/],
    ['has a chain that mines by the clock', /blockTime: [\d.]/],
    ['measures a duration', /^(?!.*useFakeTimers).*performance\.now\(\) - /s],
    ['takes a port that another process may take', /freePort/],
  ])('has no test file that %s', async (_, pattern) => {
    const files = await testFiles();
    const found = await Promise.all(
      files.map(async (name) =>
        pattern.test(await readFile(path.join(import.meta.dirname, name), 'utf8')) ? [name] : [],
      ),
    );

    expect(files.length).toBeGreaterThan(150);
    expect(found.flat(), 'files that belong in test/full/<area> (docs/testing.md)').toEqual([]);
  });

  it.each(['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'] as const)(
    'refuses %s in any module',
    (name) => {
      const start: (file: string) => unknown = childProcess[name];

      expect(() => start('true')).toThrow('npm test starts no process');
    },
  );

  it('refuses a chain that mines by the clock', async () => {
    await expect(startTestChain({ blockTime: 1 })).rejects.toThrow('npm test starts no process');
  });

  it.each(['postgres', 'chromium', 'package', 'build'] as const)('refuses %s', async (thing) => {
    await expect(askRun(thing)).rejects.toThrow(`npm test starts no ${thing}`);
  });
});
