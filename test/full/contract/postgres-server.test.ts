import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';

const typescript = new URL('../../support/typescript.js', import.meta.url).href;
const postgres = new URL('../../support/postgres.ts', import.meta.url).href;

/** What a run does, in a process that can be killed. */
const program = `
const { startPostgres } = await import(${JSON.stringify(postgres)});
const { url } = await startPostgres();
console.log(url);
setInterval(() => {}, 1000);
`;

it.each([
  ['killed', 'SIGKILL'],
  ['interrupted', 'SIGINT'],
] as const)(
  'the server of a run that is %s stops, and leaves nothing behind',
  async (_how, signal) => {
    // PostgreSQL's user cannot enter the folder of this run.
    const outer = process.env.TEST_OUTER_TMPDIR ?? tmpdir();
    const folder = await mkdtemp(path.join(outer, 'svc-run-'));
    await chmod(folder, 0o755);
    const child = spawn(
      process.execPath,
      ['--import', typescript, '--input-type=module', '--eval', program],
      { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, TEST_OUTER_TMPDIR: folder } },
    );
    const [url] = await once(createInterface({ input: child.stdout }), 'line');
    const answers = async () => {
      const client = new pg.Client({ connectionString: `${url}/postgres` });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.end();
        return true;
      } catch {
        return false;
      }
    };
    expect(await answers()).toBe(true);
    expect(await readdir(folder)).toHaveLength(1);

    child.kill(signal);
    await once(child, 'exit');

    await waitFor('the server to end', async () => !(await answers()));
    await waitFor('its folder to go', async () => (await readdir(folder)).length === 0);
    await rm(folder, { recursive: true });
  },
);
