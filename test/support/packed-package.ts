import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { askRun } from './test-run.ts';

const root = path.resolve(import.meta.dirname, '../..');
const exec = promisify(execFile);

export interface PackedPackage {
  /** Path of the tarball. */
  tarball: string;
  /** Bytes. */
  size: number;
  unpackedSize: number;
  files: { path: string }[];
}

/** The package, and robot-svc-client. */
interface PackedPackages extends PackedPackage {
  client: PackedPackage;
}

interface PublishedManifest {
  name: string;
  version: string;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

/** The package as `npm publish dist/package` would send it, of what is built now; packed once in a run. */
export function packPackage(): Promise<PackedPackages> {
  return askRun<PackedPackages>('package');
}

/** A file of `dist/package`, once it is packed. */
const published = async <T>(file: string): Promise<T> =>
  JSON.parse(await readFile(path.join(root, 'dist/package', file), 'utf8'));

export const publishedManifest = () => published<PublishedManifest>('package.json');

/** `name@version` of every package that npm installs with it from a registry. */
export async function shrinkwrapped(): Promise<string[]> {
  const { packages } = await published<{ packages: Record<string, { version: string }> }>(
    'npm-shrinkwrap.json',
  );
  return namesIn(packages);
}

/** `name@version` of the packages of a lockfile, without the one that it is of. */
export function namesIn(packages: Record<string, { version: string }>): string[] {
  const folders = Object.entries(packages).filter(([folder]) => folder !== '');
  return folders
    .map(([folder, { version }]) => `${folder.split('node_modules/').at(-1)}@${version}`)
    .sort();
}

/**
 * A project with the packed package in its `node_modules`, and beside it what an installation would bring and
 * nothing else, so that what the package lacks is not found here by chance. No registry is asked.
 */
export async function installPacked(project: string): Promise<void> {
  const { tarball } = await packPackage();
  const { name, dependencies, optionalDependencies } = await publishedManifest();
  const modules = path.join(project, 'node_modules');
  const target = path.join(modules, name);
  await mkdir(target, { recursive: true });
  await exec('tar', ['xzf', tarball, '--strip-components=1', '-C', target]);
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const link = path.join(modules, each);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(root, 'node_modules', each), link);
  }
}
