import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');

/** A browser, local chains, services and a PostgreSQL server, at the same time. */
const files = ['test/full/browser/dashboard-views', 'test/http/evidence'];
const programs = ['anvil', 'chromium', 'postgres'];

it.each(['SIGKILL', 'SIGINT'] as const)(
  'a run of tests that ends by %s leaves no process, shared memory or folder',
  async (signal) => {
    // PostgreSQL runs as another user, who must be able to enter it.
    const folder = await mkdtemp(path.join(process.env.TEST_OUTER_TMPDIR ?? tmpdir(), 'svc-run-'));
    await chmod(folder, 0o755);
    const before = await orphanedSegments();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const args = ['run', '--project=full', '--project=postgres', ...files];
    const child = spawn(process.execPath, [vitest, ...args], {
      cwd: root,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, TMPDIR: folder, TEST_RESULTS: path.join(folder, 'results') },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const areRunning = () => {
      const commands = processesOf(folder).join('\n');
      return programs.every((program) => commands.includes(program));
    };
    // Beside the other tests, a run within a run starts slowly.
    await waitFor('the programs', areRunning, 240_000);

    child.kill(signal);
    await once(child, 'exit');

    await waitFor('the processes to end', () => processesOf(folder).length === 0);
    await waitFor('its folders to go', async () => (await readdir(folder)).length === 0);
    const left = (await orphanedSegments()).filter((name) => !before.includes(name));
    expect(left).toEqual([]);
  },
  400_000,
);

/**
 * PostgreSQL's shared memory that no process has mapped: servers of other tests have theirs. Chromium unlinks its own
 * at once.
 */
async function orphanedSegments(): Promise<string[]> {
  const names = await readdir('/dev/shm');
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const maps = pids.map((pid) => read(`/proc/${pid}/maps`)).join('\n');
  return names.filter((name) => name.startsWith('PostgreSQL') && !maps.includes(name));
}

/** Command lines of what has the folder in its environment or command line. */
function processesOf(folder: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const [command, environment] = ['cmdline', 'environ'].map((part) =>
      read(`/proc/${pid}/${part}`),
    );
    const isOfRun = command?.includes(folder) || environment?.includes(folder);
    return isOfRun && command ? [command] : [];
  });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
