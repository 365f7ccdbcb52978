// Builds the image of deploy/Containerfile with buildah, and runs it with runc. Both need root.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, cp, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { startLocalRegistry } from './local-registry.ts';
import { packPackage } from './packed-package.ts';
import { findProgram } from './require-program.ts';

const deploy = path.resolve(import.meta.dirname, '../../deploy');
const exec = promisify(execFile);

/** What this machine lacks to build and run images, as a sentence; null if it lacks nothing. */
export function lackForImages(): string | null {
  if (process.getuid?.() !== 0) return 'NOT CHECKED: building an image here needs root';
  const missing = ['buildah', 'runc', 'debootstrap'].filter((name) => findProgram(name) === null);
  return missing.length === 0
    ? null
    : `NOT CHECKED: ${missing.join(', ')} not on this machine (apt-get install ${missing.join(' ')})`;
}

export interface Image {
  /** Bytes of the image as an archive, compressed. */
  size: number;
  /** Starts a container. `args` replace the command `start`. */
  run(options: ContainerOptions, ...args: string[]): Container;
  remove(): Promise<void>;
}

export interface ContainerOptions {
  env?: Record<string, string>;
  /** Host folder by path in the container. */
  volumes?: Record<string, string>;
}

export interface Container {
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Runs Node.js with a script in the container. */
  script(code: string): Promise<{ stdout: string }>;
}

/**
 * The base is Debian with this machine's Node.js and npm. debootstrap takes minutes; TEST_IMAGE_BASE names a folder that
 * it made before.
 */
export async function buildImage(folder: string): Promise<Image> {
  const base = path.join(folder, 'base');
  const context = path.join(folder, 'context');
  const ready = process.env.TEST_IMAGE_BASE;
  const debootstrap = ['--variant=minbase', '--include=ca-certificates,libstdc++6', 'bookworm'];
  if (ready === undefined) await exec('debootstrap', [...debootstrap, base]);
  else await exec('cp', ['-a', ready, base]);
  await addNode(base);
  await mkdir(context);
  const { tarball } = await packPackage();
  await copyFile(tarball, path.join(context, path.basename(tarball)));
  const registry = await startLocalRegistry(tarball);
  const storage = ['--storage-driver', 'vfs'];
  const roots = ['--root', path.join(folder, 'storage'), '--runroot', path.join(folder, 'run')];
  const buildah = async (...args: string[]) =>
    (await exec('buildah', [...storage, ...roots, ...args], { maxBuffer: 2 ** 26 })).stdout.trim();
  const env = Object.entries(registry.env)
    .map(([name, value]) => `ENV ${name}=${value}\n`)
    .join('');
  // Of a folder, an image that Containerfile can name.
  await writeFile(path.join(folder, 'Base'), `FROM scratch\nCOPY base /\n${env}`);
  const common = ['bud', '--isolation', 'chroot', '--format', 'docker', '--quiet'];
  await buildah(...common, '-t', 'base', '-f', path.join(folder, 'Base'), folder);
  const args = ['--build-arg', 'BASE=localhost/base'];
  await buildah(...common, ...args, '-t', 'svc', '-f', path.join(deploy, 'Containerfile'), context);
  registry.close();

  const archive = path.join(folder, 'image.tar');
  await buildah('push', '--quiet', 'svc', `docker-archive:${archive}:svc`);
  await exec('gzip', ['-k', archive]);
  const { OCIv1 } = JSON.parse(await buildah('inspect', '--type', 'image', 'svc'));
  const container = await buildah('from', '--pull-never', 'svc');
  const root = await buildah('mount', container);
  let count = 0;
  return {
    size: (await stat(`${archive}.gz`)).size,
    run: (options, ...command) => {
      count += 1;
      const bundle = path.join(folder, `bundle-${count}`);
      return start(
        bundle,
        `svc-test-${process.pid}-${count}`,
        { root, config: OCIv1.config, ...options },
        command,
      );
    },
    remove: async () => {
      await buildah('umount', container);
    },
  };
}

async function addNode(base: string): Promise<void> {
  const npm = path.resolve(await realNpm(), '../..');
  const modules = path.join(base, 'usr/local/lib/node_modules');
  await copyFile(process.execPath, path.join(base, 'usr/local/bin/node'));
  await exec('strip', [path.join(base, 'usr/local/bin/node')]);
  await cp(npm, path.join(modules, 'npm'), { recursive: true });
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', path.join(base, 'usr/local/bin/npm'));
}

async function realNpm(): Promise<string> {
  return (await exec('readlink', ['-f', findProgram('npm') ?? ''])).stdout.trim();
}

interface Setup extends ContainerOptions {
  root: string;
  config: { Env: string[]; Entrypoint: string[]; Cmd: string[]; User: string; WorkingDir: string };
}

function start(bundle: string, id: string, setup: Setup, command: string[]): Container {
  const ended = (async () => {
    await mkdir(bundle);
    await exec('runc', ['spec', '--bundle', bundle]);
    const file = path.join(bundle, 'config.json');
    await writeFile(
      file,
      JSON.stringify(specOf(JSON.parse(await readFile(file, 'utf8')), setup, command)),
    );
    const child = spawn('runc', ['run', '--bundle', bundle, id], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = once(child, 'close');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    return { code: child.exitCode, stdout, stderr };
  })();
  return {
    ended,
    kill: async (signal) => {
      await exec('runc', ['kill', id, signal]);
    },
    script: (code) => exec('runc', ['exec', id, 'node', '-e', code]),
  };
}

/** Of runc, the part that is changed. */
interface Spec {
  process: object;
  mounts: object[];
  linux: { namespaces: { type: string }[] };
}

/** As an engine makes it of the image with `--read-only --cap-drop ALL`, with the network of the host. */
function specOf(
  spec: Spec,
  { root, config, env = {}, volumes = {} }: Setup,
  command: string[],
): object {
  const [uid, gid] = config.User.split(':').map(Number);
  const given = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const binds = Object.entries(volumes).map(([destination, source]) => ({
    ...{ destination, source, type: 'bind' },
    options: ['bind', destination.startsWith('/run/') ? 'ro' : 'rw'],
  }));
  const tmp = { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev'] };
  return {
    ...spec,
    process: {
      ...spec.process,
      terminal: false,
      user: { uid, gid },
      args: [...config.Entrypoint, ...(command.length > 0 ? command : config.Cmd)],
      env: [...config.Env, ...given],
      cwd: config.WorkingDir,
      capabilities: {},
      noNewPrivileges: true,
    },
    root: { path: root, readonly: true },
    mounts: [...spec.mounts, tmp, ...binds],
    linux: {
      ...spec.linux,
      namespaces: spec.linux.namespaces.filter(({ type }) => type !== 'network'),
    },
  };
}
