import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { CHUNK_BYTES, digestChunks, portableSha256 } from '../../../src/proof/files/digest.ts';
import { contentOf, entryOf } from '../../support/evidence-files.ts';
import { itHolds } from '../../support/property.ts';

const digest = (content: Uint8Array) => digestChunks(chunksOf(content), portableSha256());

async function* chunksOf(content: Uint8Array) {
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    yield Buffer.concat([Buffer.of(0), content.subarray(at, at + CHUNK_BYTES)]);
  }
}

describe('the digest of a file', () => {
  itHolds('has the root of RFC 9162 for any size', 40, async (numRuns) => {
    const anySize = fc.nat({ max: 6 * CHUNK_BYTES });
    await fc.assert(
      fc.asyncProperty(anySize, async (size) => {
        const content = contentOf(size);
        expect((await digest(content)).root).toBe(entryOf('run.mcap', content).root);
      }),
      { numRuns },
    );
  });
});
