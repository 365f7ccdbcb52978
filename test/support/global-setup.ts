import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { freemem, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { resultsFolder } from './failure-records.ts';
import { buildIfStale } from './fresh-build.ts';

const GIB = 2 ** 30;

/**
 * Makes the folder of the run, and answers what its workers share (`askRun`). Nothing is started or imported before a
 * worker asks: most tests need none of it.
 */
export default async function setUpRun(project: TestProject): Promise<() => Promise<void>> {
  process.env.TEST_RUN_ID = randomBytes(4).toString('hex');
  await rm(resultsFolder, { recursive: true, force: true });
  await keepRunFolder(project.vitest.projects.map(({ tmpDir }) => tmpDir));
  const ends: (() => Promise<void>)[] = [];
  const things: Record<string, () => Promise<unknown>> = {
    postgres: single(() => sharePostgres(ends)),
    chromium: single(async () => {
      const { default: chromium } = await import('@sparticuz/chromium');
      return { path: await chromium.executablePath() };
    }),
    package: single(packPackage),
    python: single(async () => (await import('./python-client.ts')).makePythonClient()),
    build: single(() => buildIfStale(path.resolve(import.meta.dirname, '../..'))),
  };
  const server = createServer(async (request, response) => {
    try {
      response.end(JSON.stringify(await things[request.url?.slice(1) ?? '']?.()));
    } catch (error) {
      response.statusCode = 500;
      response.end(String(error));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  project.provide('testRun', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    for (const end of ends.reverse()) await end();
    server.close();
    server.closeAllConnections();
  };
}

function single<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/**
 * Everything temporary of the run goes into one folder. PATH contains it, so every child process inherits it, and the
 * keeper finds and ends what a killed run leaves (run-keeper.js). `ofVitest`: folders that
 * vitest makes itself, which it removes unless it is killed.
 */
async function keepRunFolder(ofVitest: readonly string[]): Promise<void> {
  const folder = await mkdtemp(path.join(await roomyMemory(), 'svc-test-'));
  // Some tests run programs as another user.
  await chmod(folder, 0o755);
  const program = fileURLToPath(new URL('run-keeper.js', import.meta.url));
  const keeper = spawn(process.execPath, [program, folder, ...ofVitest], {
    stdio: ['pipe', 'ignore', 'inherit'],
    // A signal for all processes of the run leaves it alive.
    detached: true,
  });
  // Its standard input ends with this process.
  keeper.unref();
  if (keeper.stdin instanceof Socket) keeper.stdin.unref();
  process.env.TEST_OUTER_TMPDIR = tmpdir();
  process.env.TEST_OUTER_PATH = process.env.PATH ?? '';
  process.env.TMPDIR = folder;
  process.env.PATH = folder + path.delimiter + process.env.PATH;
}

/** A file system in memory that has room for a run, else `tmpdir()`: databases that a test drops need no disk. */
async function roomyMemory(): Promise<string> {
  if (process.env.TMPDIR !== undefined) return tmpdir();
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }));
  return Math.min(bavail * bsize, freemem()) > 8 * GIB ? '/dev/shm' : tmpdir();
}

/** Stages what is built, and packs the packages as `npm publish` does. */
async function packPackage() {
  const npm = async (...args: string[]) => (await promisify(execFile)('npm', args)).stdout;
  await npm('run', '--silent', 'stage');
  const pack = async (folder: string) => {
    const packed = await npm('pack', folder, '--json', '--pack-destination', tmpdir());
    const [{ filename, size, unpackedSize, files }] = JSON.parse(packed);
    return { size, unpackedSize, files, tarball: path.join(tmpdir(), filename) };
  };
  return { ...(await pack('./dist/package')), client: await pack('./dist/client-package') };
}

async function sharePostgres(ends: (() => Promise<void>)[]) {
  const [{ startPostgres }, { createDatabase, dropDatabases }, { migratePostgres }] =
    await Promise.all([
      import('./postgres.ts'),
      import('./temporary-database.ts'),
      import('../../src/server/store/postgres/open-store.ts'),
    ]);
  const given = process.env.TEST_POSTGRES_URL;
  const server = given === undefined ? await startPostgres() : null;
  const url = given ?? server?.url ?? '';
  ends.push(() => server?.close() ?? dropDatabases(url));
  const template = await createDatabase(url);
  // Without partitions: each store creates its own by its clock.
  await migratePostgres({ url: template.url, poolMax: 2, pooler: false });
  return { url, template: template.name };
}
