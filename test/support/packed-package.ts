import { execFile } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };

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

/** The package as `npm publish` would send it, of what is built now, in that folder. */
export async function packPackage(folder: string): Promise<PackedPackage> {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await exec('npm', args, { cwd: root });
  const [packed] = JSON.parse(stdout);
  return { ...packed, tarball: path.join(folder, packed.filename) };
}

/**
 * A project with the packed package in its `node_modules`, and beside it what an installation would bring and
 * nothing else, so that what the package lacks is not found here by chance. No registry is asked.
 */
export async function installPacked(project: string): Promise<void> {
  const { tarball } = await packPackage(project);
  const modules = path.join(project, 'node_modules');
  const target = path.join(modules, packageJson.name);
  await mkdir(target, { recursive: true });
  await exec('tar', ['xzf', tarball, '--strip-components=1', '-C', target]);
  for (const name of Object.keys(packageJson.dependencies)) {
    const link = path.join(modules, name);
    await mkdir(path.dirname(link), { recursive: true });
    await symlink(path.join(root, 'node_modules', name), link);
  }
}
