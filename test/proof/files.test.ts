import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHUNK_BYTES, digestChunks, portableSha256 } from '../../src/proof/files/digest.ts';
import { compareFiles, type FileEntry, listedFiles } from '../../src/proof/files/manifest.ts';
import { fileOfPart, rangePath, readPart, rootFromRange } from '../../src/proof/files/part.ts';
import type { JsonValue, Proof } from '../../src/proof/json-value.ts';
import { contentOf, entryOf, partOf } from '../support/evidence-files.ts';
import {
  content,
  entry,
  files,
  forgedParts,
  malformedLists,
  misplacedParts,
  part,
  photo,
  size,
} from '../support/forged-files.ts';
import { itHolds } from '../support/property.ts';
import { bytesOf, hex, sha256, treeHash, treePath } from './reference.ts';

const digest = (content: Uint8Array) => digestChunks(chunksOf(content), portableSha256());

async function* chunksOf(content: Uint8Array) {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    yield Buffer.concat([Buffer.of(0), content.subarray(at, at + CHUNK_BYTES)]);
  }
}

const boundaries = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((chunks) =>
  [-1, 0, 1].map((more) => chunks * CHUNK_BYTES + more).filter((size) => size >= 0),
);

describe('the digest of a file', () => {
  it.each(boundaries)('has hash and root of RFC 9162 for %i bytes', async (size) => {
    const content = contentOf(size);
    const entry = entryOf('run.mcap', content);

    const { bytes, sha256: whole, root } = await digest(content);

    expect([bytes, whole, root]).toEqual([size, entry.sha256, entry.root]);
  });

  it('has the hash of the empty string as root of an empty file', async () => {
    const { root } = await digest(new Uint8Array());

    expect(root).toBe(hex(sha256('')));
  });
});

const leavesOf = (count: number) => Array.from({ length: count }, (_, i) => hex(sha256(`${i}`)));
const hashed = (leaves: readonly string[]) => leaves.map(bytesOf);

const anyRange = fc
  .integer({ min: 1, max: 80 })
  .chain((count) => fc.tuple(fc.constant(count), fc.nat(count - 1), fc.nat(count - 1)))
  .map(([count, one, other]) => ({
    count,
    first: Math.min(one, other),
    last: Math.max(one, other),
  }));

describe('the path of a range', () => {
  itHolds('leads to the root of RFC 9162', 1000, (numRuns) => {
    fc.assert(
      fc.property(anyRange, ({ count, first, last }) => {
        const leaves = leavesOf(count);
        const path = rangePath(Buffer.concat(hashed(leaves)), first, last);
        const given = hashed(leaves.slice(first, last + 1));
        expect(rootFromRange(given, first, count, path)).toBe(treeHash(leaves));
      }),
      { numRuns },
    );
  });

  itHolds('has the hashes of the inclusion path of RFC 9162 for one leaf', 200, (numRuns) => {
    fc.assert(
      fc.property(anyRange, ({ count, first }) => {
        const leaves = leavesOf(count);
        const path = rangePath(Buffer.concat(hashed(leaves)), first, first);
        expect(path.toSorted()).toEqual(treePath(first, leaves).toSorted());
      }),
      { numRuns },
    );
  });

  itHolds('leads nowhere with a hash more, less or changed, or elsewhere', 500, (numRuns) => {
    fc.assert(
      fc.property(anyRange, fc.nat(), ({ count, first, last }, at) => {
        const leaves = leavesOf(count);
        const path = rangePath(Buffer.concat(hashed(leaves)), first, last);
        const given = hashed(leaves.slice(first, last + 1));
        const reached = (from: number, of: number, way: string[]) =>
          rootFromRange(given, from, of, way);
        const more = hex(sha256('more'));
        const wrong = [
          reached(first, count, [...path, more]),
          reached(first, count + (1 << 7), path),
          ...(path.length === 0
            ? []
            : [
                reached(first, count, path.slice(1)),
                reached(first, count, path.with(at % path.length, more)),
              ]),
          ...(first > 0 ? [reached(first - 1, count, path)] : []),
        ];
        expect(wrong).not.toContain(treeHash(leaves));
      }),
      { numRuns },
    );
  });
});

describe('a file manifest', () => {
  it('lists the files of evidence', () => {
    expect(listedFiles({ nonce: 'a', files } as unknown as Proof)).toEqual([entry, photo]);
  });

  it.each([
    ['an array', [files]],
    ['evidence without files', { nonce: 'a' }],
    ['files of another kind', { files: ['run.mcap'] }],
    ['files with another format', { files: { format: 'zip' } }],
    ['files with an object as format', { files: { format: { toString: 1 } } }],
  ])('is not present in %s', (_, proof) => {
    expect(listedFiles(proof as Proof)).toBe('The evidence lists no files');
  });

  it.each(malformedLists)('is refused with %s', (_, forged) => {
    expect(listedFiles({ files: forged } as Proof)).toMatch(/^The list of files is malformed: /);
  });
});

describe('the comparison of files', () => {
  const given = (made: FileEntry, members: Partial<FileEntry> = {}) => ({ ...made, ...members });
  const other = entryOf('other.bin', contentOf(7));
  const compare = (...them: FileEntry[]) =>
    compareFiles([entry, photo], them).map(({ status }) => status);

  it.each<[string, FileEntry[], string[]]>([
    ['says which are not given', [], ['not_given', 'not_given']],
    ['goes by content, not by name', [given(entry, { name: 'a' })], ['matches', 'not_given']],
    ['says which differ', [given(other, { name: 'photo.jpg' })], ['not_given', 'differs']],
    ['adds files that are not listed', [other], ['not_given', 'not_given', 'not_listed']],
    [
      'takes no file by its hash alone',
      [given(entry, { root: photo.root })],
      ['differs', 'not_given'],
    ],
    [
      'takes no file by its root alone',
      [given(entry, { sha256: photo.sha256 })],
      ['differs', 'not_given'],
    ],
    ['takes no file of another size', [given(photo, { bytes: 999 })], ['not_given', 'differs']],
  ])('%s', (_, them, expected) => {
    expect(compare(...them)).toEqual(expected);
  });
});

const read = (document: unknown) => readPart(document as JsonValue);

describe('a part', () => {
  it.each([
    [0, 0],
    [0, size - 1],
    [CHUNK_BYTES - 1, CHUNK_BYTES],
    [CHUNK_BYTES, 2 * CHUNK_BYTES - 1],
    [3 * CHUNK_BYTES, size - 1],
  ])('shows the bytes %i to %i of a file', (first, last) => {
    const document = JSON.parse(JSON.stringify(partOf(content, first, last)));

    expect(fileOfPart(read(document), [photo, entry])).toBe(entry);
  });

  it.each(forgedParts)('is refused with %s', (_, document) => {
    expect(() => read(document)).toThrowError(
      expect.objectContaining({ name: 'DocumentError', document: 'part' }),
    );
  });

  it.each(misplacedParts)('matches no file with %s', (_, forged) => {
    expect(fileOfPart(forged, [photo, entry])).toBeNull();
  });

  it('matches no file whose entry states another size', () => {
    const longer = { ...entry, bytes: size + CHUNK_BYTES };

    expect(fileOfPart(part, [longer])).toBeNull();
  });
});

it('has the same hash as Node.js in one pass', async () => {
  expect((await digest(content)).sha256).toBe(hex(createHash('sha256').update(content).digest()));
});
