import { expect, it } from 'vitest';
import { merkleTree, rootFromPath } from '../../../src/proof/tree.ts';
import { hex, sha256, treeHash, treePath } from '../../proof/reference.ts';

it('merkleTree follows the recursive definition of RFC 9162 for every leaf of up to 70', () => {
  const all = Array.from({ length: 70 }, (_, i) => hex(sha256(`leaf ${i}`)));
  for (let leaf_count = 1; leaf_count <= all.length; leaf_count++) {
    const leaves = all.slice(0, leaf_count);
    const tree = merkleTree(leaves);

    expect(tree.root).toBe(treeHash(leaves));
    for (const [leaf_index, leaf] of leaves.entries()) {
      const path = tree.path(leaf_index);
      expect(path).toEqual(treePath(leaf_index, leaves));
      expect(rootFromPath(leaf, { leaf_index, leaf_count, path })).toBe(tree.root);
    }
  }
});
