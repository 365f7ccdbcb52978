import {
  appendFileSync,
  closeSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { copyFile, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attachFiles, digestFile, writePart } from '../../src/client/files.ts';
import { CHUNK_BYTES } from '../../src/proof/files/digest.ts';
import { contentOf, entryOf, partOf } from '../support/evidence-files.ts';

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
  it('lists files in the order given, with media types by their names', async () => {
    await writeFile(file('photo.JPG'), 'photo');
    await writeFile(file('empty.bin'), '');

    const files = [run, file('photo.JPG'), file('empty.bin')];
    const evidence = await attachFiles({ nonce: 'a' }, files);

    expect(evidence).toEqual({
      nonce: 'a',
      files: {
        format: 'svc-files/1',
        chunk_bytes: 1_048_576,
        entries: [
          entryOf('run.mcap', content, 'application/vnd.mcap'),
          entryOf('photo.JPG', Buffer.from('photo'), 'image/jpeg'),
          entryOf('empty.bin', Buffer.alloc(0)),
        ],
      },
    });
  });

  it.each([
    ['an array', []],
    ['evidence that has files already', { files: null }],
    ['a text', 'evidence' as never],
  ])('refuses %s', async (_, evidence) => {
    expect(await failure(attachFiles(evidence, [run]))).toBe(
      'usage: The evidence must be a JSON object without a member "files".',
    );
  });

  it('follows symbolic links', async () => {
    await symlink(run, file('newest.mcap'));

    expect(await digestFile(file('newest.mcap'))).toEqual(await digestFile(run));
  });

  it('reports how much of a file it has read', async () => {
    const shares: number[] = [];

    await attachFiles({}, [run], (_, share) => shares.push(share));

    expect(shares.map((share) => Math.round(share * content.length))).toEqual([
      CHUNK_BYTES,
      2 * CHUNK_BYTES,
      3 * CHUNK_BYTES,
      content.length,
    ]);
  });
});

/** Changes of a file after its first chunk was hashed. */
const changes: [string, (name: string) => void][] = [
  ['cut', (name) => truncateSync(name, CHUNK_BYTES + 7)],
  ['cut to nothing', (name) => truncateSync(name, 0)],
  ['grown', (name) => appendFileSync(name, 'more')],
  ['swapped', (name) => renameSync(file('other'), name)],
  ['deleted', (name) => rmSync(name)],
  [
    'written to, with its time set back',
    (name) => {
      const { atime, mtime, ctimeMs } = statSync(name);
      // The clock of a file system advances every few milliseconds.
      do {
        const handle = openSync(name, 'r+');
        writeSync(handle, 'x', content.length - 1);
        closeSync(handle);
        utimesSync(name, atime, mtime);
      } while (statSync(name).ctimeMs === ctimeMs);
    },
  ],
];

describe('a file that changes while it is read', () => {
  const changing = async (name: string, change: (name: string) => void) => {
    const changed = file(name);
    await writeFile(changed, content);
    await copyFile(changed, file('other'));
    let isFirst = true;
    const onRead = () => {
      if (isFirst) change(changed);
      isFirst = false;
    };
    return { changed, onRead };
  };

  it.each(changes)('is not attached: %s', async (name, change) => {
    const { changed, onRead } = await changing(name, change);

    expect(await failure(digestFile(changed, onRead))).toBe(
      `file_changed: ${name} changed while it was read.`,
    );
  });

  it.each(changes)('has no part: %s', async (name, change) => {
    const { changed, onRead } = await changing(`part of ${name}`, change);

    expect(await failure(text(writePart(changed, [0, 1], onRead)))).toBe(
      `file_changed: part of ${name} changed while it was read.`,
    );
  });
});

describe('writePart', () => {
  it.each([
    [0, 0],
    [CHUNK_BYTES + 10, 2 * CHUNK_BYTES + 20],
    [3 * CHUNK_BYTES, content.length - 1],
  ])('writes the bytes %i to %i', async (first, last) => {
    expect(JSON.parse(await text(writePart(run, [first, last])))).toEqual(
      partOf(content, first, last),
    );
  });

  it.each([
    ['an end before its beginning', [7, 6]],
    ['bytes beyond the end', [0, content.length]],
  ] as const)('refuses %s', async (_, range) => {
    expect(await failure(text(writePart(run, range)))).toMatch(/^usage: Give bytes from 0 to /);
  });

  it('refuses more than 128 chunks', async () => {
    await writeFile(file('many chunks'), '');
    await truncate(file('many chunks'), 200 * CHUNK_BYTES);

    expect(await failure(text(writePart(file('many chunks'), [0, 128 * CHUNK_BYTES])))).toMatch(
      /^usage: .* at most 128 chunks of 1 MiB\.$/,
    );
  });
});
