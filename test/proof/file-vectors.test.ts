import { describe, expect, it } from 'vitest';
import { CHUNK_BYTES, digestChunks, portableSha256 } from '../../src/proof/files/digest.ts';
import { listedFiles } from '../../src/proof/files/manifest.ts';
import { fileOfPart, readPart } from '../../src/proof/files/part.ts';
import { hashProof } from '../../src/proof/hash.ts';
import vectors from '../fixtures/files.json' with { type: 'json' };
import { plainJcs } from '../support/chain-scan.ts';
import { contentOf, entryOf, partOf } from '../support/evidence-files.ts';
import { hex, sha256 } from './reference.ts';

const { files, parts, evidence, part } = vectors;

describe('the vectors of files, recomputed apart from src/proof', () => {
  it.each(files)('match a file of $bytes bytes', (vector) => {
    expect(entryOf('run.mcap', contentOf(vector.bytes))).toMatchObject(vector);
  });

  it.each(parts)('match the bytes $first_byte to $last_byte of $bytes', (vector) => {
    const { bytes, ...expected } = vector;

    const { first_byte, last_byte } = vector;
    expect(partOf(contentOf(bytes), first_byte, last_byte)).toMatchObject(expected);
  });

  it('match the evidence', () => {
    expect(evidence.canonical).toBe(plainJcs(evidence.value as never));
    expect(evidence.proof_hash).toBe(hex(sha256(evidence.canonical)));
  });
});

describe('the vectors of files, by src/proof', () => {
  async function* chunksOf(content: Uint8Array) {
    for (let at = 0; at < content.length; at += CHUNK_BYTES) {
      yield Buffer.concat([Buffer.of(0), content.subarray(at, at + CHUNK_BYTES)]);
    }
  }

  it.each(files)('give hash and root of $bytes bytes', async (vector) => {
    const chunks = chunksOf(contentOf(vector.bytes));

    expect(await digestChunks(chunks, portableSha256())).toEqual(vector);
  });

  it.each(parts)('accept the bytes $first_byte to $last_byte of $bytes', (vector) => {
    const entry = entryOf('run.mcap', contentOf(vector.bytes));
    const { first_byte, last_byte } = vector;
    const { chunks } = partOf(contentOf(vector.bytes), first_byte, last_byte);

    const read = readPart({ ...vectorPart(vector), chunks });

    expect(fileOfPart(read, [entry])).toBe(entry);
  });

  it('list the files of the evidence, and accept the part', () => {
    const listed = listedFiles(evidence.value);

    expect(hashProof(evidence.value)).toBe(evidence.proof_hash);
    expect(listed).toEqual(evidence.value.files.entries);
    expect(fileOfPart(readPart(part), listed as never)?.name).toBe('photo.jpg');
  });
});

function vectorPart({ bytes: _, ...part }: (typeof parts)[number]) {
  return { format: 'svc-part/1', ...part };
}
