import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { decodePayload, encodePayload, type Payload } from '../../src/proof/payload.ts';
import { rootFromPath } from '../../src/proof/tree.ts';
import { hex, sha256, treeHash } from './reference.ts';

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hex);
const payload: fc.Arbitrary<Payload> = fc.oneof(
  fc.record({ kind: fc.constant('single' as const), proof_hash: hash, leaf: hash }),
  fc.record({
    kind: fc.constant('batch' as const),
    root: hash,
    leaf_count: fc.integer({ min: 2, max: 2 ** 32 - 1 }),
  }),
);

describe('payload', () => {
  it('reads back what it writes, in hex of any case', () => {
    fc.assert(
      fc.property(payload, (value) => {
        const calldata = encodePayload(value);

        expect(decodePayload(calldata)).toEqual(value);
        expect(decodePayload(`0x${calldata.slice(2).toUpperCase()}`)).toEqual(value);
      }),
    );
  });

  it('is 70 bytes for one proof and 42 for a batch', () => {
    fc.assert(
      fc.property(payload, (value) => {
        expect(encodePayload(value).length / 2 - 1).toBe(value.kind === 'single' ? 70 : 42);
      }),
    );
  });

  it('is null at any other length', () => {
    fc.assert(
      fc.property(payload, fc.integer({ min: 0, max: 200 }), (value, length) => {
        const calldata = encodePayload(value);
        fc.pre(length !== calldata.length / 2 - 1);

        expect(decodePayload(calldata.padEnd(402, '0').slice(0, 2 + 2 * length))).toBeNull();
      }),
    );
  });

  it('is null if one of its first six bytes differs', () => {
    fc.assert(
      fc.property(payload, fc.nat(5), fc.integer({ min: 1, max: 255 }), (value, at, change) => {
        const bytes = Buffer.from(encodePayload(value).slice(2), 'hex');
        bytes.writeUInt8(bytes.readUInt8(at) ^ change, at);

        expect(decodePayload(hex(bytes))).toBeNull();
      }),
    );
  });

  it.each([
    'no hex at all',
    '',
    '0x',
    `0x${'zz'.repeat(42)}`,
    `0x${'5'.repeat(83)}`,
    `52545041010100${'00'.repeat(35)}02`,
  ])('is null in %j', (calldata) => {
    expect(decodePayload(calldata)).toBeNull();
  });

  it('is not written for a batch that would be unreadable', () => {
    const root = hex(sha256('root'));

    for (const leaf_count of [0, 1, 1.5, -2, 2 ** 32, Number.NaN]) {
      expect(() => encodePayload({ kind: 'batch', root, leaf_count })).toThrow(RangeError);
    }
    expect(() => encodePayload({ kind: 'batch', root: '0x00', leaf_count: 2 })).toThrow(TypeError);
    expect(() => encodePayload({ kind: 'single', proof_hash: root, leaf: '0x' })).toThrow(
      TypeError,
    );
  });
});

describe('commitLeaves', () => {
  const waiting = (count: number) =>
    Array.from({ length: count }, (_, i): { proof_hash: Hex; leaf: Hex } => ({
      proof_hash: hex(sha256(`proof ${i}`)),
      leaf: hex(sha256(`leaf ${i}`)),
    }));

  it('anchors one waiting proof as a single, so that its hash is on the chain', () => {
    const [only] = waiting(1);

    const { payload, inclusions } = commitLeaves(waiting(1));

    expect(payload).toEqual({ kind: 'single', ...only });
    expect(inclusions).toEqual([null]);
  });

  it('anchors more as a batch, each leaf with the path to the one root', () => {
    const leaves = waiting(11);

    const { payload, inclusions } = commitLeaves(leaves);

    const root = treeHash(leaves.map(({ leaf }) => leaf));
    expect(payload).toEqual({ kind: 'batch', root, leaf_count: 11 });
    expect(inclusions).toHaveLength(11);
    for (const [index, inclusion] of inclusions.entries()) {
      const leaf = leaves[index]?.leaf;
      expect(inclusion).toMatchObject({ root, leaf_index: index, leaf_count: 11 });
      expect(leaf && inclusion && rootFromPath(leaf, inclusion)).toBe(root);
    }
  });

  it('refuses an empty list', () => {
    expect(() => commitLeaves([])).toThrow(RangeError);
  });
});
