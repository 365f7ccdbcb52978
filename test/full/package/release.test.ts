// Tests `npm run release -- --dry-run` in a copy of the tree, because it builds again.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { copyTree } from '../../matrix/copy-tree.ts';
import { findProgram } from '../../support/require-program.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const { name, version } = packageJson;

describe('npm run release', { timeout: 400_000 }, () => {
  let tree: string;
  beforeAll(async () => {
    tree = await mkdtemp(path.join(tmpdir(), 'svc-release-'));
    await copyTree(root, tree);
    // What is published is under version control.
    for (const args of [
      ['init', '--quiet'],
      ['add', '--all'],
    ]) {
      await promisify(execFile)('git', args, { cwd: tree });
    }
    await symlink(path.join(root, 'node_modules'), path.join(tree, 'node_modules'));
  });
  afterAll(() => rm(tree, { recursive: true, force: true }));

  const release = (...args: string[]) =>
    promisify(execFile)('npm', ['run', 'release', '--', '--no-image', ...args], { cwd: tree });
  const read = (file: string) => readFile(path.join(tree, file));

  it('creates the same package and SBOM in each run, with notes and checksums', async () => {
    await release('--dry-run', '--out', 'first');
    await release('--dry-run', '--out', 'second');

    const sums = String(await read('first/SHA256SUMS'));
    expect(String(await read('second/SHA256SUMS'))).toBe(sums);
    const files = [...sums.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)];
    const [sdist, wheel] = [`${name}-${version}.tar.gz`, `robot_svc-${version}-py3-none-any.whl`];
    const hasPython = findProgram('pyproject-build') !== null;
    expect(files.map(([, , file]) => file)).toEqual([
      'NOTES.md',
      `${name}-${version}.cdx.json`,
      ...(hasPython ? [sdist] : []),
      `${name}-${version}.tgz`,
      `${name}-client-${version}.tgz`,
      ...(hasPython ? [wheel] : []),
    ]);
    for (const [, sum, file] of files) {
      const bytes = await read(`first/${file}`);
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sum);
    }
    expect(String(await read('first/NOTES.md'))).toContain(`## ${version} `);
  });

  it('creates no release files while package.json names no repository', async () => {
    await expect(release()).rejects.toMatchObject({
      stderr: expect.stringContaining('package.json has no `repository`'),
    });
  });
});
