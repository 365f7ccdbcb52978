import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..');

/** `whole` files, and those of which `some` tests have the tag `full`. */
async function taggedFiles(): Promise<string[]> {
  const names = await readdir(import.meta.dirname, { recursive: true });
  const files = names.filter((name) => /\.(test|contract)\.ts$/.test(name)).sort();
  const rows = await Promise.all(
    files.map(async (name) => {
      const code = await readFile(path.join(import.meta.dirname, name), 'utf8');
      if (/^\/\/ @module-tag (?=full\n)/.test(code)) return [`whole ${name}`];
      return /\['full'\]|\bitHolds\(/.test(code) ? [`some ${name}`] : [];
    }),
  );
  return rows.flat().filter((row) => !row.endsWith(' testing-page.test.ts'));
}

it('docs/testing.md lists what only npm run test:full runs', async () => {
  const page = await readFile(path.join(root, 'docs/testing.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([\w/.-]+)` \| (whole|some)\b/gm)];

  expect(rows.map(([, name, how]) => `${how} ${name}`).sort()).toEqual(
    (await taggedFiles()).sort(),
  );
});
