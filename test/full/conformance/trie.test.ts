import { createMerkleProof, createMPT } from '@ethereumjs/mpt';
import { describe, expect, it } from 'vitest';
import { bytesToHex } from '../../../src/proof/bytes.ts';
import { encodeRlp, quantityBytes } from '../../../src/proof/rlp.ts';
import { valueInTrie } from '../../../src/proof/trie.ts';
import { trieProof } from '../../support/synthetic-block.ts';

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

  it.each(counts)('returns each of %i values by its path', (count) => expectEach(count, 1));
});
