import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeDurableFolder } from '../../src/base/durable-folder.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'svc-folder-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

it('creates a folder and its parents, accessible to their owner only', () => {
  makeDurableFolder(path.join(parent, 'a', 'b'));

  for (const name of ['a', 'a/b']) {
    expect(statSync(path.join(parent, name)).mode & 0o777).toBe(0o700);
  }
});

it('accepts a folder that exists and a relative path', () => {
  const relative = path.relative(process.cwd(), path.join(parent, 'c'));

  makeDurableFolder(relative);
  makeDurableFolder(relative);

  expect(statSync(path.join(parent, 'c')).isDirectory()).toBe(true);
});
