import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import { commitLeaves } from '../../src/proof/commit-leaves.ts';
import { type ClaimContent, hashClaim, hashProof } from '../../src/proof/hash.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { encodePayload } from '../../src/proof/payload.ts';
import { parseStrictJson } from '../../src/proof/strict-json.ts';
import { merkleTree } from '../../src/proof/tree.ts';
import { plainJcs } from '../support/chain-scan.ts';
import { bytesOf, hex, sha256, treeHash, treePath } from './reference.ts';

type Hex = `0x${string}`;

const page = readFileSync(new URL('../../docs/anchoring.md', import.meta.url), 'utf8');
const [proofText = '', claimText = ''] = blocks('json');
const proof = JSON.parse(proofText);
const claim: ClaimContent = JSON.parse(claimText);
const leaves = [cell('leaf 0'), cell('leaf 1'), cell('leaf 2')] as [Hex, Hex, Hex];
const path = cell('path of leaf 1').split('` `');
const [proof_hash, claim_hash] = [cell('`proof_hash`'), cell('`claim_hash`')] as [Hex, Hex];
const [task_id, robot_id] = [cell('`task_id`'), cell('`robot_id`')];

function blocks(language: string): string[] {
  const fences = page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...fences].map(([, block = '']) => block);
}

/** The value beside that name in the tables of the worked example. */
function cell(name: string): string {
  const row = page.split('\n').find((line) => line.startsWith(`| ${name} | \``));
  if (row === undefined) throw new Error(`The page has no ${name}`);
  return row.slice(`| ${name} | \``.length, -'` |'.length);
}

describe('the worked example of docs/anchoring.md', () => {
  it('matches SHA-256', () => {
    const ids = [task_id, robot_id].map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'));
    const leaf = sha256(
      Buffer.concat([Buffer.of(0), bytesOf(proof_hash), ...ids, bytesOf(claim_hash)]),
    );

    expect(cell('JCS(proof)')).toBe(plainJcs(proof));
    expect(proof_hash).toBe(hex(sha256(cell('JCS(proof)'))));
    expect(cell('JCS(claim)')).toBe(plainJcs(claim));
    expect(claim_hash).toBe(hex(sha256(cell('JCS(claim)'))));
    expect(cell('leaf')).toBe(hex(leaf));
    expect(cell('calldata of a single')).toBe(
      `0x525450410100${proof_hash.slice(2)}${leaf.toString('hex')}`,
    );
    expect(leaves[1]).toBe(hex(leaf));
    expect(path).toEqual(treePath(1, leaves));
    expect(cell('root')).toBe(treeHash(leaves));
    expect(cell('calldata of this batch')).toBe(`0x525450410101${cell('root').slice(2)}00000003`);
  });

  it('matches src/proof', () => {
    const leaf = leafHash({ proof_hash, task_id, robot_id, claim_hash });
    const alone = commitLeaves([{ proof_hash, leaf }]);
    const batch = commitLeaves(leaves.map((each) => ({ proof_hash, leaf: each })));

    expect(cell('JCS(proof)')).toBe(canonicalJson(parseStrictJson(proofText)));
    expect(proof_hash).toBe(hashProof(proof));
    expect(cell('JCS(claim)')).toBe(canonicalJson(parseStrictJson(claimText)));
    expect(claim_hash).toBe(hashClaim(claim));
    expect(cell('leaf')).toBe(leaf);
    expect(cell('calldata of a single')).toBe(encodePayload(alone.payload));
    expect(cell('calldata of this batch')).toBe(encodePayload(batch.payload));
    expect(batch.inclusions[1]).toEqual({
      root: cell('root'),
      leaf_index: 1,
      leaf_count: 3,
      path,
    });
  });
});

describe('the tree that docs/anchoring.md draws', () => {
  const figure = blocks('text').find((block) => block.includes('path of')) ?? '';
  const hashes = new Map(['A', 'B', 'C', 'D', 'E'].map((name) => [name, hex(sha256(name))]));
  const hashOf = (name: string) => hashes.get(name) ?? name;
  // The figure has the root on top, so that reading it from the bottom names children first.
  for (const [, name = '', left = '', right = ''] of [
    ...figure.matchAll(/(\w+)\((\w), (\w)\)/g),
  ].reverse()) {
    hashes.set(name, treeHash([hashOf(left), hashOf(right)] as Hex[]));
  }
  const tree = merkleTree([...hashes.values()].slice(0, 5));

  it('has the root of five leaves', () => {
    expect(hashOf('root')).toBe(tree.root);
  });

  it('has the paths listed below it', () => {
    const drawn = [...figure.matchAll(/^path of (\w) \(index (\d)\): (.+)$/gm)];

    expect(drawn).toHaveLength(2);
    for (const [, leaf = '', index = '', names = ''] of drawn) {
      expect(leaf).toBe('ABCDE'[Number(index)]);
      expect(names.split(', ').map(hashOf)).toEqual(tree.path(Number(index)));
    }
  });
});
