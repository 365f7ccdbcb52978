// What file systems say of files, and what they then yield.
import { readFileSync } from 'node:fs';
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { attachFiles, writePart } from '../../src/client/files.ts';
import { entryOf } from '../support/evidence-files.ts';

interface Attached {
  name: string;
  report: string;
  file: string;
  /** The most bytes that one read yields. */
  most?: number;
}

/** Linux states a size of 0 for what the kernel writes when it is read. */
const attached: Attached[] = [
  {
    name: 'a file of /proc, which states no size',
    report: 'RayforceDB/rayforce 572, tpm2-software/tpm2-tools 2895, nodejs/node 43669',
    file: '/proc/version',
  },
  {
    name: 'a file of /proc that yields a few bytes at a time',
    report: 'nodejs/node 50437',
    file: '/proc/version',
    most: 10,
  },
  {
    name: 'a file of /proc with NUL bytes',
    report: 'RayforceDB/rayforce 572',
    file: '/proc/self/cmdline',
  },
];

interface Refused {
  name: string;
  report: string;
  /** The name of the file, as bytes or text. */
  file: string | Buffer;
  /** The name as Node.js passes it from the command line. */
  typed?: string;
  /** Bytes that it states. */
  states?: number;
  /** Bytes that its reads yield, if this differs. */
  yields?: number;
  isThere?: false;
  /** How the error begins. */
  error: string;
  hint: string;
}

const copy = 'Copy the file, and use the copy.';

const refused: Refused[] = [
  {
    name: 'fewer bytes than the file states, as in /sys',
    report: 'own case: /sys states 4096 bytes for a few',
    file: 'enabled',
    states: 4096,
    yields: 23,
    error: 'usage: enabled does not have the 4096 bytes that it states.',
    hint: copy,
  },
  {
    name: 'more bytes than the file states',
    report: 'own case: a network file system with an old size',
    file: 'old size',
    states: 4096,
    yields: 4097,
    error: 'usage: old size does not have the 4096 bytes that it states.',
    hint: copy,
  },
  {
    name: 'a file without a size that does not end',
    report: 'pillarjs/send 213',
    file: 'trace_pipe',
    states: 0,
    yields: Number.POSITIVE_INFINITY,
    error: 'usage: trace_pipe states no size, and has more than 64 MiB.',
    hint: copy,
  },
  {
    name: 'a file of more than 1 TiB, such as /proc/kcore',
    report: 'own case: /proc/kcore states 128 TiB',
    file: 'kcore',
    states: 2 ** 40 + 1,
    error: 'usage: kcore has more than 1 TiB.',
    hint: 'Split the file, and use the pieces.',
  },
  {
    name: 'a name in Latin-1',
    report: 'nodejs/node 43672, nodejs/node 128',
    file: Buffer.from('Gro\xdf.log', 'latin1'),
    typed: 'Gro\ufffd.log',
    error: 'usage: Cannot read Gro\ufffd.log: there is no such file, or its name is not UTF-8.',
    hint: 'Rename the file; its name must be UTF-8.',
  },
  {
    name: 'a name with half of a UTF-16 pair, as from JavaScript',
    report: 'own case: a sibling of a name in Latin-1',
    file: 'half \ud83d.log',
    isThere: false,
    error: 'usage: Cannot read half \ud83d.log: there is no such file, or its name is not UTF-8.',
    hint: 'Rename the file; its name must be UTF-8.',
  },
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-files-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

type Reads = Pick<Attached, 'most'> & Pick<Refused, 'yields'>;

/** Makes reads of files yield at most `most` bytes each, and `yields` bytes in all. */
async function limitReads({ most = Number.POSITIVE_INFINITY, yields }: Reads) {
  const handle = await open('/dev/null');
  await handle.close();
  const prototype = Object.getPrototypeOf(handle);
  const { read } = prototype;
  vi.spyOn(prototype, 'read').mockImplementation(function (this: unknown, ...args) {
    const [buffer, at, length, position] = args as [Uint8Array, number, number, number];
    if (yields === undefined) return read.call(this, buffer, at, Math.min(length, most), position);
    const bytesRead = Math.max(0, Math.min(length, yields - position));
    return Promise.resolve({ bytesRead, buffer });
  });
}

describe.skipIf(process.platform !== 'linux')('attachFiles', () => {
  it.each(attached)('reads to its end $name', async (row) => {
    const content = readFileSync(row.file);
    await limitReads(row);

    const { files } = await attachFiles({}, [row.file]);

    expect(content.length).toBeGreaterThan(0);
    expect(files).toMatchObject({ entries: [entryOf(path.basename(row.file), content)] });
  });

  it.each(refused)('refuses $name', async (row) => {
    const { file, typed = String(file), states = 0, error, hint } = row;
    const found = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(file as string)]);
    if (row.isThere !== false) {
      await writeFile(found, '');
      await truncate(found, states);
    }
    if (row.yields !== undefined) await limitReads(row);

    const refusal = await attachFiles({}, [path.join(folder, typed)]).catch((thrown) => thrown);

    expect(`${refusal.code}: ${refusal.message}`.replace(`${folder}/`, '')).toBe(error);
    expect(refusal.hint).toBe(hint);
  });

  it('writes no part of a file that states no size', async () => {
    await expect(text(writePart('/proc/version', [0, 1]))).rejects.toMatchObject({
      code: 'usage',
      message: '/proc/version is empty or states no size.',
    });
  });
});
