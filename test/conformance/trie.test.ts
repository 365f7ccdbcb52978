import { createMerkleProof, createMPT } from '@ethereumjs/mpt';
import fc from 'fast-check';
import { fromRlp, toRlp } from 'viem';
import { describe, expect, it } from 'vitest';
import { bytesToHex, hexToBytes } from '../../src/proof/bytes.ts';
import { decodeRlp, encodeRlp, quantityBytes, type RlpItem } from '../../src/proof/rlp.ts';
import { valueInTrie } from '../../src/proof/trie.ts';
import { itHolds } from '../support/property.ts';
import { trieProof } from '../support/synthetic-block.ts';

/** Values of 1 to 300 bytes: short ones are part of their parents. */
const value = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 3 }),
  fc.uint8Array({ minLength: 20, maxLength: 40 }),
  fc.uint8Array({ minLength: 41, maxLength: 300 }),
);
const values = fc.array(value, { minLength: 1, maxLength: 300, size: 'max' });

/** The trie as @ethereumjs/mpt builds it. */
async function oracle(values: readonly Uint8Array[]) {
  const trie = await createMPT();
  for (const [i, each] of values.entries()) await trie.put(keyOf(i), each);
  return {
    root: bytesToHex(trie.root()),
    /** Without the nodes that are part of their parents. */
    path: async (index: number) => {
      const nodes = await createMerkleProof(trie, keyOf(index));
      return nodes.filter((node, i) => i === 0 || node.length >= 32).map(bytesToHex);
    },
  };
}

function keyOf(index: number): Uint8Array {
  return encodeRlp(quantityBytes(index));
}

describe('the transactions trie', () => {
  itHolds('has the root and the paths of @ethereumjs/mpt', 50, async (numRuns) => {
    const property = fc.asyncProperty(values, fc.nat(), async (list, seed) => {
      const index = seed % list.length;
      const expected = await oracle(list);

      expect(trieProof(list, index)).toEqual({
        root: expected.root,
        nodes: await expected.path(index),
      });
    });
    await fc.assert(property, { numRuns });
  });

  /** Where keys get longer and branches fill up. */
  const counts = [1, 2, 3, 16, 17, 127, 128, 129, 130, 255, 256, 257, 300];

  async function expectEach(count: number, step: number) {
    const list = Array.from({ length: count }, (_, i) => new Uint8Array((i % 70) + 1).fill(i + 1));
    const { root } = await oracle(list);
    for (const [i, each] of list.entries()) {
      if (i % step > 0 && i < count - 1) continue;
      const proof = trieProof(list, i);
      expect(proof.root).toBe(root);
      expect(valueInTrie(root, i, proof.nodes)).toEqual(each);
    }
  }

  it.each(counts)('returns a value by its path among %i', (count) => expectEach(count, 25));

  itHolds('proves nothing with any byte of any node changed', 25, (numRuns) => {
    const property = fc.property(
      values,
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (list, seed, mask) => {
        const { root, nodes } = trieProof(list, seed % list.length);
        for (const [i, node] of nodes.entries()) {
          for (let at = 0; at < hexToBytes(node).length; at += 1) {
            const bytes = hexToBytes(node);
            bytes[at] = (bytes[at] ?? 0) ^ mask;
            expect(
              valueInTrie(root, seed % list.length, nodes.with(i, bytesToHex(bytes))),
            ).toBeNull();
          }
        }
      },
    );
    fc.assert(property, { numRuns });
  });

  itHolds('proves nothing with another index, order or number of nodes', 250, (numRuns) => {
    const property = fc.property(values, fc.nat(), fc.nat(400), (list, seed, other) => {
      const index = seed % list.length;
      const { root, nodes } = trieProof(list, index);
      const [first = '0x'] = nodes;

      // A short value can be in the same node.
      const found = valueInTrie(root, other, nodes);
      if (found !== null) expect(found).toEqual(list[other]);
      if (nodes.length > 1) expect(valueInTrie(root, index, nodes.toReversed())).toBeNull();
      expect(valueInTrie(root, index, nodes.slice(1))).toBeNull();
      expect(valueInTrie(root, index, nodes.slice(0, -1))).toBeNull();
      expect(valueInTrie(root, index, [...nodes, first])).toBeNull();
    });
    fc.assert(property, { numRuns });
  });
});

describe('RLP', () => {
  const { item } = fc.letrec<{ item: RlpItem; list: RlpItem[] }>((tie) => ({
    item: fc.oneof(
      { maxDepth: 7 },
      fc.uint8Array({ maxLength: 3 }),
      fc.uint8Array({ minLength: 50, maxLength: 70 }),
      fc.uint8Array({ minLength: 250, maxLength: 260 }),
      tie('list'),
    ),
    list: fc.array(tie('item'), { maxLength: 6 }),
  }));

  itHolds('is that of viem, and decodes to what was encoded', 1000, (numRuns) => {
    const property = fc.property(item, (each) => {
      expect(bytesToHex(encodeRlp(each))).toBe(toRlp(each as Uint8Array));
      expect(decodeRlp(encodeRlp(each))).toEqual(each);
    });
    fc.assert(property, { numRuns });
  });

  itHolds('accepts no bytes but those that it would encode', 5000, (numRuns) => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 12 }),
      fc.tuple(item, fc.nat(), fc.integer({ min: 1, max: 255 })).map(([each, at, mask]) => {
        const encoded = encodeRlp(each).slice();
        const place = at % encoded.length;
        encoded[place] = (encoded[place] ?? 0) ^ mask;
        return encoded;
      }),
    );
    const property = fc.property(bytes, (each) => {
      let decoded: RlpItem;
      try {
        decoded = decodeRlp(each);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        return;
      }
      expect(encodeRlp(decoded)).toEqual(each);
      expect(fromRlp(bytesToHex(each), 'bytes')).toEqual(decoded);
    });
    fc.assert(property, { numRuns });
  });
});
