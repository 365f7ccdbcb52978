import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const main = await readFile(new URL('../../../bench/main.js', import.meta.url), 'utf8');
const names = /const all = \[(.*?)\]/s.exec(main)?.[1]?.match(/[a-z-]+/g) ?? [];

it.each(names)('the benchmark %s runs', { timeout: 400_000 }, async (name) => {
  const { VITEST, ...environment } = process.env;
  const options = { cwd: root, env: { ...environment, BENCH_QUICK: '1' } };
  const args = ['--import', './test/support/typescript.js', `bench/${name}.js`];

  const { stdout } = await promisify(execFile)(process.execPath, args, options);

  expect(stdout).toMatch(/\d/);
  // NaN and Infinity may occur: a second is too short for some figures.
  expect(stdout).not.toMatch(/undefined/);
});
