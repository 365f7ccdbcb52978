// A PostgreSQL cluster as docs/operations.md describes it, on one machine: three nodes under Patroni, etcd, and HAProxy in
// front of the primary.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { findProgram } from '../../support/require-program.ts';
import { waitFor } from '../../support/wait-for.ts';

/** `postgres`: its postmaster is killed. `patroni`: only what manages it. `node`: both at once. */
export type ClusterKill = 'postgres' | 'patroni' | 'node';

export interface Cluster {
  /** Through HAProxy, of the first database, without its name. */
  readonly url: string;
  readonly folder: string;
  /**
   * Kills on the node that has the primary now, with SIGKILL. Once another node has taken over, starts Patroni again if
   * it was killed.
   */
  killPrimary(kill: ClusterKill): Promise<void>;
  /** Resolves once there is a primary, and every other node streams from it, one of them synchronously. */
  healthy(): Promise<void>;
  /** With `keep`, the logs stay. */
  close(keep: boolean): Promise<void>;
}

/** Packages of Debian. */
const packages = { patroni: 'patroni', etcd: 'etcd-server', haproxy: 'haproxy' };
const BIN = '/usr/lib/postgresql';
const NODES = 3;
/** Ends what hangs; how long it takes says nothing. */
const LONG = 120_000;

/** Packages that are missing. */
export function missingPackages(): string[] {
  const missing = Object.entries(packages)
    .filter(([program]) => findProgram(program) === null)
    .map(([, name]) => name);
  return existsSync(BIN) ? missing : [...missing, 'postgresql'];
}

interface Node {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly dataDir: string;
  readonly config: string;
  patroni: ChildProcess | null;
}

interface Member {
  name: string;
  role: string;
  state: string;
  timeline?: number;
}

export async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-failover-'));
  const owner = postgresUser();
  if (owner !== null) await chown(folder, owner.uid, owner.gid);
  await chmod(folder, 0o755);
  const started: ChildProcess[] = [];
  const start = (name: string, command: string, args: string[]) => {
    const log = openSync(path.join(folder, `${name}.log`), 'a');
    const child = spawn(command, args, { stdio: ['ignore', log, log], ...owner });
    started.push(child);
    return child;
  };
  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()];
  const peer = `http://127.0.0.1:${peerPort}`;
  const client = `http://127.0.0.1:${etcdPort}`;
  start('etcd', 'etcd', [
    ...['--name', 'one', '--data-dir', path.join(folder, 'etcd')],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `one=${peer}`],
  ]);
  const nodes: Node[] = [];
  for (let n = 0; n < NODES; n += 1) {
    nodes.push(await writeNode(folder, `node${n}`, { etcdPort, owner }));
  }
  const startPatroni = (node: Node) => {
    node.patroni = start(node.name, 'patroni', [node.config]);
  };
  const members = async (): Promise<Member[]> => {
    for (const { restPort } of nodes) {
      const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`).catch(() => null);
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members;
    }
    return [];
  };
  const healthy = async () => {
    await waitFor(
      'a primary and its standbys',
      async () => {
        const all = await members();
        const standbys = all.filter(({ role }) => role !== 'leader');
        return (
          all.length === NODES &&
          standbys.length === NODES - 1 &&
          standbys.some(({ role }) => role === 'sync_standby') &&
          all.every(({ state }) => ['running', 'streaming'].includes(state)) &&
          new Set(all.map(({ timeline }) => timeline)).size === 1
        );
      },
      LONG,
    );
  };
  const haproxy = path.join(folder, 'haproxy.cfg');
  await writeFile(haproxy, haproxyConfig(port, nodes));
  for (const node of nodes) startPatroni(node);
  await healthy();
  start('haproxy', 'haproxy', ['-db', '-f', haproxy]);
  return {
    url: `postgres://postgres@127.0.0.1:${port}`,
    folder,
    healthy,
    async killPrimary(kill) {
      const leader = (await members()).find(({ role }) => role === 'leader');
      const node = nodes.find(({ name }) => name === leader?.name);
      if (node === undefined) throw new Error('The cluster has no primary');
      if (kill !== 'postgres') node.patroni?.kill('SIGKILL');
      if (kill !== 'patroni') process.kill(await postmasterOf(node), 'SIGKILL');
      const isOver = async () =>
        (await members()).some(({ role, name }) => role === 'leader' && name !== node.name);
      await waitFor('another primary', isOver, LONG);
      if (kill !== 'postgres') startPatroni(node);
    },
    async close(keep) {
      for (const { patroni } of nodes) patroni?.kill('SIGKILL');
      for (const node of nodes) {
        const pid = await postmasterOf(node).catch(() => null);
        if (pid !== null && isAlive(pid)) process.kill(pid, 'SIGKILL');
      }
      for (const child of started) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
      if (!keep) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL refuses to run as root: as Debian's user then. */
function postgresUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function writeNode(
  folder: string,
  name: string,
  { etcdPort, owner }: { etcdPort: number; owner: ReturnType<typeof postgresUser> },
): Promise<Node> {
  const [port, restPort] = [await freePort(), await freePort()];
  const dataDir = path.join(folder, name);
  const config = path.join(folder, `${name}.yml`);
  await mkdir(dataDir, { mode: 0o700 });
  if (owner !== null) await chown(dataDir, owner.uid, owner.gid);
  const listen = `127.0.0.1:${restPort}`;
  const hba = ['local all all trust', 'host all all 127.0.0.1/32 trust'];
  // JSON is YAML.
  const settings = {
    scope: 'svc',
    name,
    restapi: { listen, connect_address: listen },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: 20,
        loop_wait: 2,
        retry_timeout: 5,
        primary_start_timeout: 0,
        synchronous_mode: true,
        synchronous_mode_strict: true,
        postgresql: { use_pg_rewind: true },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: dataDir,
      bin_dir: path.join(BIN, newestVersion(), 'bin'),
      pgpass: path.join(folder, `${name}.pgpass`),
      authentication: {
        superuser: { username: 'postgres' },
        replication: { username: 'postgres' },
      },
      pg_hba: [...hba, 'host replication all 127.0.0.1/32 trust'],
      parameters: { unix_socket_directories: '' },
    },
  };
  await writeFile(config, JSON.stringify(settings));
  return { name, port, restPort, dataDir, config, patroni: null };
}

function newestVersion(): string {
  const versions = execFileSync('ls', [BIN], { encoding: 'utf8' }).trim().split('\n');
  return versions.toSorted((a, b) => Number(a) - Number(b)).at(-1) ?? '';
}

function haproxyConfig(port: number, nodes: readonly Node[]): string {
  return `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen postgres
  bind 127.0.0.1:${port}
  option httpchk HEAD /primary
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.port} check port ${node.restPort}`).join('\n')}
`;
}

async function postmasterOf({ dataDir }: Node): Promise<number> {
  return Number((await readFile(path.join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
