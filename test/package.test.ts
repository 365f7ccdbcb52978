import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

let packed: { size: number; files: { path: string }[] };

beforeAll(async () => {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json'];
  const { stdout } = await promisify(execFile)('npm', args, { cwd: root });
  [packed] = JSON.parse(stdout);
});

it('has every page that its pages lead to', async () => {
  const names = packed.files.map((file) => file.path);
  const pages = names.filter((name) => /^[^/]+\.md$|^docs\/.*\.md$/.test(name));
  const missing: string[] = [];
  for (const page of pages) {
    const text = await readFile(path.join(root, page), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\((?!\w+:|#)([^)#]+)[^)]*\)/g)) {
      const target = path.join(path.dirname(page), link);
      if (!names.some((name) => name === target || name.startsWith(`${target}/`))) {
        missing.push(`${page}: ${link}`);
      }
    }
  }

  expect(pages).toContain('README.md');
  expect(missing).toEqual([]);
});

it('is smaller than 3 MB', () => {
  expect(packed.size).toBeLessThan(3_000_000);
});
