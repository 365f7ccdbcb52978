import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

/** Stands between a store and its database and gives each transaction another session of the server. */
export interface Pooler {
  /** The address of a database of the server, through the pooler. */
  via(url: string): string;
  close(): Promise<void>;
}

/** PgBouncer also refuses to run as root. */
const UNPRIVILEGED = 65_534;

/** PgBouncer in transaction mode, in front of that server. */
export async function startPgBouncer(pgbouncer: string, server: string): Promise<Pooler> {
  const { hostname, port, username, password } = new URL(server);
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-pgbouncer-'));
  await chmod(folder, 0o755);
  const listens = await freePort();
  const config = path.join(folder, 'pgbouncer.ini');
  const secret = password === '' ? '' : ` password=${decodeURIComponent(password)}`;
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${port || 5432} user=${username}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listens}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_round_robin = 1
`,
  );
  const user = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const child = spawn(pgbouncer, ['--quiet', config], { ...user, cwd: folder, stdio: 'ignore' });
  const ended = once(child, 'close');
  await Promise.race([
    waitFor('PgBouncer', () => answers(listens)),
    ended.then(() => {
      throw new Error('PgBouncer did not start');
    }),
  ]);
  return {
    via: (url) => throughPort(url, listens),
    async close() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  through.search = '';
  return through.href;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
