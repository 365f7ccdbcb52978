import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isStale } from './support/fresh-build.ts';

let root: string;

/** Writes a file that was changed so many seconds after the epoch. */
async function write(name: string, seconds: number): Promise<void> {
  const file = path.join(root, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, '');
  for (const each of [file, path.dirname(file)]) await utimes(each, seconds, seconds);
}

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'svc-build-'));
  for (const name of ['src/cli/main.ts', 'build/bundle.js', 'package.json']) await write(name, 10);
  await utimes(path.join(root, 'src'), 10, 10);
  await write('dist/sbom.cdx.json', 20);
});
afterEach(() => rm(root, { recursive: true }));

describe('the build that tests of programs use', () => {
  it('is kept while no source is newer', async () => {
    expect(await isStale(root)).toBe(false);
  });

  it.each(['src/cli/main.ts', 'src/cli/new.ts', 'build/bundle.js', 'package.json'])(
    'is made again after a change of %s',
    async (name) => {
      await write(name, 30);

      expect(await isStale(root)).toBe(true);
    },
  );

  it('is made if there is none', async () => {
    await rm(path.join(root, 'dist'), { recursive: true });

    expect(await isStale(root)).toBe(true);
  });

  it('is kept if it is a link to that of another tree', async () => {
    await rename(path.join(root, 'dist'), path.join(root, 'other'));
    await symlink('other', path.join(root, 'dist'));
    await write('src/cli/main.ts', 30);

    expect(await isStale(root)).toBe(false);
  });
});
