import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestFile, writePart } from '../../../src/client/files.ts';
import { CHUNK_BYTES } from '../../../src/proof/files/digest.ts';
import { merkleTree } from '../../../src/proof/tree.ts';
import { hex, sha256 } from '../../proof/reference.ts';
import { contentOf } from '../../support/evidence-files.ts';

let folder: string;
let run: string;
const content = contentOf(3 * CHUNK_BYTES + 5);

const file = (name: string) => path.join(folder, name);
const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    ({ code, message }) => `${code}: ${message.replace(`${folder}/`, '')}`,
  );

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-files-'));
  run = file('run.mcap');
  await writeFile(run, content);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('attachFiles', () => {
  it.each([
    ['a folder', '.', 'usage: . is not a regular file.'],
    ['a pipe', 'pipe', 'usage: pipe is not a regular file.'],
    ['a device', '/dev/zero', 'usage: /dev/zero is not a regular file.'],
    ['a file that is not there', 'gone', 'usage: Cannot read gone: there is no such file.'],
  ])('refuses %s', async (_, name, message) => {
    if (name === 'pipe') execFileSync('mkfifo', [file(name)]);

    expect(await failure(digestFile(path.resolve(folder, name)))).toBe(
      message.replace(': . is', `: ${folder} is`),
    );
  });
});

const GIB = 1024 ** 3;

describe('a sparse file of 20 GB', { timeout: 600_000 }, () => {
  it('is hashed and shown in part, with little memory', async () => {
    const sparse = file('sparse.mcap');
    await writeFile(sparse, '');
    await truncate(sparse, 20 * GIB);
    const before = process.memoryUsage().rss;
    let most = 0;
    const onRead = () => {
      most = Math.max(most, process.memoryUsage().rss);
    };

    const range = [10 * GIB, 10 * GIB + 1] as const;
    const part = JSON.parse(await text(writePart(sparse, range, onRead)));

    await rm(sparse);
    const leaf = hex(sha256(Buffer.alloc(CHUNK_BYTES + 1)));
    expect(part.root).toBe(merkleTree(Array(20 * 1024).fill(leaf)).root);
    expect(part.path.length).toBeLessThanOrEqual(15);
    expect(most - before).toBeLessThan(200 * 1024 * 1024);
  });
});
