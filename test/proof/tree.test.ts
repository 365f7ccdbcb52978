import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Hex } from '../../src/proof/bytes.ts';
import { merkleTree, rootFromPath } from '../../src/proof/tree.ts';
import { hex, sha256 } from './reference.ts';

describe('the published tree of the Certificate Transparency tests', () => {
  const entries = [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ];
  const leaves = entries.map((data) => hex(sha256(Buffer.from(`00${data}`, 'hex'))));

  it.each([
    [1, '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
    [2, 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
    [3, 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
    [4, 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'],
    [5, '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4'],
    [6, '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef'],
    [7, 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
    [8, '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
  ])('has the published root over %i entries', (count, root) => {
    expect(merkleTree(leaves.slice(0, count)).root).toBe(`0x${root}`);
  });

  it.each([
    [0, 1, []],
    [
      0,
      8,
      [
        '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
      ],
    ],
    [
      5,
      8,
      [
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
        'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
        'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      ],
    ],
    [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
    [
      1,
      5,
      [
        '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
        '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
        'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      ],
    ],
  ])('has the published path of entry %i of %i', (index, count, path) => {
    expect(merkleTree(leaves.slice(0, count)).path(index)).toEqual(path.map((h) => `0x${h}`));
  });
});

describe('the example of RFC 9162, section 2.1.5', () => {
  it('has the paths that the RFC names for its seven leaves', () => {
    const [a, b, c, d, e, f, j] = leavesOf(7) as [Hex, Hex, Hex, Hex, Hex, Hex, Hex];
    const node = (left: Hex, right: Hex) => merkleTree([left, right]).root;
    const [g, h, i] = [node(a, b), node(c, d), node(e, f)];
    const [k, l] = [node(g, h), node(i, j)];

    const tree = merkleTree([a, b, c, d, e, f, j]);

    expect(tree.root).toBe(node(k, l));
    expect(tree.path(0)).toEqual([b, h, l]);
    expect(tree.path(3)).toEqual([c, g, l]);
    expect(tree.path(4)).toEqual([f, j, k]);
    expect(tree.path(6)).toEqual([i, k]);
  });
});

describe('merkleTree', () => {
  it('refuses no leaves, an index beyond them, and a leaf that is not 32 bytes', () => {
    expect(() => merkleTree([])).toThrow(new RangeError('A tree needs at least one leaf'));
    expect(() => merkleTree(leavesOf(3)).path(3)).toThrow(new RangeError('No leaf has this index'));
    expect(() => merkleTree(leavesOf(3)).path(-1)).toThrow(RangeError);
    expect(() => merkleTree(leavesOf(3)).path(0.5)).toThrow(RangeError);
    expect(() => merkleTree(['0x00'])).toThrow(TypeError);
  });
});

describe('rootFromPath', () => {
  const place = fc
    .integer({ min: 1, max: 70 })
    .chain((count) => fc.record({ count: fc.constant(count), index: fc.nat(count - 1) }));

  it('refuses every truncated and every extended path', () => {
    fc.assert(
      fc.property(place, fc.nat(8), ({ count, index }, cut) => {
        const leaves = leavesOf(count);
        const path = merkleTree(leaves).path(index);
        const extra = hex(sha256('extra'));

        expect(rootOf(leaves[index], index, count, [...path, extra])).toBeNull();
        expect(rootOf(leaves[index], index, count, [extra, ...path])).toBeNull();
        if (cut < path.length) {
          expect(rootOf(leaves[index], index, count, path.toSpliced(cut, 1))).toBeNull();
        }
      }),
    );
  });

  it('leads to another root if one bit of the path or leaf is changed', () => {
    fc.assert(
      fc.property(place, fc.nat(7), fc.nat(255), ({ count, index }, at, bit) => {
        const leaves = leavesOf(count);
        const { root, path } = merkleTree(leaves);
        const chain = [leaves[index] as Hex, ...path(index)];
        const changed = chain.with(at % chain.length, flip(chain[at % chain.length] as Hex, bit));

        expect(rootOf(changed[0], index, count, changed.slice(1))).not.toBe(root);
      }),
    );
  });

  it('leads to another root, or to none, for the leaf at another index', () => {
    fc.assert(
      fc.property(place, fc.nat(69), ({ count, index }, other) => {
        fc.pre(other !== index && other < count);
        const leaves = leavesOf(count);
        const { root, path } = merkleTree(leaves);

        expect(rootOf(leaves[other], index, count, path(index))).not.toBe(root);
        expect(rootOf(leaves[index], other, count, path(index))).not.toBe(root);
      }),
    );
  });

  it.each([
    [0, 0],
    [1, 1],
    [-1, 2],
    [0.5, 2],
    [Number.NaN, 2],
    [0, 2 ** 32],
    [0, 1.5],
    [0, Number.POSITIVE_INFINITY],
  ])('refuses index %d of %d', (index, count) => {
    const [leaf, sibling] = leavesOf(2) as [Hex, Hex];

    expect(rootOf(leaf, index, count, count === 1 ? [] : [sibling])).toBeNull();
  });

  it('counts up to 2^32 - 1 leaves, whose last index has a path of 32', () => {
    const [leaf = '0x', ...path] = leavesOf(33);
    const last = 2 ** 32 - 2;

    expect(rootOf(leaf, last - 1, last + 1, path)).not.toBeNull();
    expect(rootOf(leaf, last - 1, last + 1, path.slice(1))).toBeNull();
    expect(rootOf(leaf, last - 1, last + 2, path)).toBeNull();
  });

  it('refuses a hash that is not 32 bytes of hex', () => {
    const [leaf, sibling] = leavesOf(2) as [Hex, Hex];

    expect(rootOf(leaf.slice(0, -2), 0, 2, [sibling])).toBeNull();
    expect(rootOf(leaf, 0, 2, [`${sibling}00`])).toBeNull();
    expect(rootOf(leaf, 0, 2, [sibling.slice(2)])).toBeNull();
    expect(rootOf(leaf, 0, 2, [`${sibling.slice(0, -1)}g`])).toBeNull();
  });
});

function leavesOf(count: number): Hex[] {
  return Array.from({ length: count }, (_, i) => hex(sha256(`leaf ${i}`)));
}

function rootOf(
  leaf: string | undefined,
  leaf_index: number,
  leaf_count: number,
  path: readonly string[],
): Hex | null {
  if (leaf === undefined) throw new Error('no such leaf');
  return rootFromPath(leaf, { leaf_index, leaf_count, path });
}

function flip(hash: Hex, bit: number): Hex {
  const bytes = Buffer.from(hash.slice(2), 'hex');
  const at = bit >> 3;
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (bit & 7)), at);
  return hex(bytes);
}
