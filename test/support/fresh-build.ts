// Builds `dist` again if a source is newer. Programs run from there.
import { execFile } from 'node:child_process';
import { lstat, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** Whether a file of the sources is newer than the last build below `root`. A link to the build of another tree is never stale. */
export async function isStale(root: string): Promise<boolean> {
  const built = await stat(path.join(root, 'dist/sbom.cdx.json')).catch(() => null);
  if (built === null) return true;
  if ((await lstat(path.join(root, 'dist'))).isSymbolicLink()) return false;
  const times = ['src', 'build', 'package.json'].map((name) => newest(path.join(root, name)));
  return Math.max(...(await Promise.all(times))) > built.mtimeMs;
}

/** The time of the last change of a file, or of any file in a folder. */
async function newest(name: string): Promise<number> {
  const found = await stat(name);
  if (!found.isDirectory()) return found.mtimeMs;
  const names = await readdir(name, { recursive: true });
  const all = await Promise.all(names.map((each) => stat(path.join(name, each))));
  return Math.max(found.mtimeMs, ...all.map(({ mtimeMs }) => mtimeMs));
}

/** Answers whether it had to build. */
export async function buildIfStale(root: string): Promise<boolean> {
  if (!(await isStale(root))) return false;
  await promisify(execFile)('npm', ['run', 'build'], { cwd: root });
  return true;
}
