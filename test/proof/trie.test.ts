import { keccak256 } from 'viem';
import { describe, expect, it } from 'vitest';
import { readBlockHeader } from '../../src/proof/block-header.ts';
import { bytesToHex, hexToBytes } from '../../src/proof/bytes.ts';
import { decodeRlp, encodeRlp, type RlpItem } from '../../src/proof/rlp.ts';
import { valueInTrie } from '../../src/proof/trie.ts';
import { realBlocks, typeOf } from '../support/real-blocks.ts';
import { trieProof } from '../support/synthetic-block.ts';

describe('the transactions trie', () => {
  it.each([-1, 0.5, Number.NaN, 2 ** 53])('has no value at index %d', (index) => {
    const { root, nodes } = trieProof([Uint8Array.of(1)], 0);

    expect(valueInTrie(root, index, nodes)).toBeNull();
    expect(() => trieProof([Uint8Array.of(1)], index)).toThrow(RangeError);
  });

  it('accepts a short node only as part of its parent', () => {
    const leaf: RlpItem = [Uint8Array.of(0x30), Uint8Array.of(7)];
    const branchOf = (child: RlpItem) =>
      encodeRlp(Array.from({ length: 17 }, (_, i) => (i === 8 ? child : new Uint8Array())));
    const within = bytesToHex(branchOf(leaf));
    const apart = [branchOf(keccak256(encodeRlp(leaf), 'bytes')), encodeRlp(leaf)].map(bytesToHex);

    expect(valueInTrie(keccak256(within), 0, [within])).toEqual(Uint8Array.of(7));
    expect(valueInTrie(keccak256(apart[0] ?? '0x'), 0, apart)).toBeNull();
  });

  it('has no path without values', () => {
    expect(() => trieProof([], 0)).toThrow(RangeError);
  });
});

describe('a real block', () => {
  it.each(realBlocks)(
    '$name has the hash of its header and the root of its transactions',
    (block) => {
      const values = block.transactions.map((raw) => hexToBytes(raw));
      const header = readBlockHeader(block.header);

      expect(header.hash).toBe(block.hash ?? header.hash);
      for (const [i, each] of values.entries()) {
        if (i % 25 > 0 && i < values.length - 1) continue;
        const { root, nodes } = trieProof(values, i);
        expect(root).toBe(header.transactionsRoot);
        expect(valueInTrie(root, i, nodes)).toEqual(each);
      }
    },
  );

  it('exists for each transaction type and each kind of header of the chains', () => {
    const types = new Set(realBlocks.flatMap(({ transactions }) => transactions.map(typeOf)));
    const members = realBlocks.map(
      ({ header }) => (decodeRlp(hexToBytes(header)) as RlpItem[]).length,
    );

    expect([...types].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 126]);
    expect([...new Set(members)].sort()).toEqual([16, 20, 21]);
  });
});

describe('RLP', () => {
  it.each([
    ['nothing', '0x'],
    ['a byte with a prefix', '0x8101'],
    ['a short text in the long form', `0xb801${'ff'}`],
    ['a length with a leading zero', `0xb90038${'ff'.repeat(56)}`],
    ['a short list in the long form', '0xf80180'],
    ['a text that ends early', '0x8301'],
    ['a list that ends early', '0xc38180'],
    ['a list whose item is longer than it', '0xc18301'],
    ['a length without its bytes', '0xbf'],
    ['a length beyond four bytes', '0xbc0100000000'],
    ['bytes after the item', '0x8080'],
    ['nine lists inside each other', '0xc8c7c6c5c4c3c2c1c0'],
  ])('refuses %s', (_, hex) => {
    expect(() => decodeRlp(hexToBytes(hex))).toThrow(TypeError);
  });
});
