import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/proof/canonical-json.ts';
import { hashClaim, hashProof } from '../../src/proof/hash.ts';
import { isProof } from '../../src/proof/json-value.ts';
import { leafHash } from '../../src/proof/leaf.ts';
import { decodePayload, encodePayload, type Payload } from '../../src/proof/payload.ts';
import { parseStrictJson } from '../../src/proof/strict-json.ts';
import { merkleTree } from '../../src/proof/tree.ts';
import vectors from '../fixtures/vectors.json' with { type: 'json' };
import { bytesOf, hex, sha256, treeHash, treePath } from './reference.ts';
import { refusalOf } from './refusal.ts';

type HexText = `0x${string}`;

describe('the vectors, recomputed apart from src/proof', () => {
  it.each([...vectors.proofs.map((v) => ({ ...v, hash: v.proof_hash })), ...claims()])(
    'match the hash of $canonical',
    ({ canonical, hash }) => {
      expect(hash).toBe(hex(sha256(canonical)));
    },
  );

  it.each(vectors.leaves)('match leaf $leaf', (v) => {
    const ids = [v.task_id, v.robot_id].map((id) => Buffer.from(id.replaceAll('-', ''), 'hex'));
    const parts = [Buffer.of(0), bytesOf(v.proof_hash), ...ids, bytesOf(v.claim_hash)];

    expect(v.leaf).toBe(hex(sha256(Buffer.concat(parts))));
  });

  it.each(vectors.trees)('match root $root', ({ leaves, root, paths }) => {
    expect(root).toBe(treeHash(leaves as HexText[]));
    expect(paths).toEqual(leaves.map((_, i) => treePath(i, leaves as HexText[])));
  });

  it.each(vectors.payloads)('match payload $calldata', (v) => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(v.leaf_count ?? 0);
    const parts =
      v.kind === 'single'
        ? [bytesOf('0x525450410100'), bytesOf(v.proof_hash ?? ''), bytesOf(v.leaf ?? '')]
        : [bytesOf('0x525450410101'), bytesOf(v.root ?? ''), count];

    expect(v.calldata).toBe(hex(Buffer.concat(parts)));
  });
});

describe('the vectors, by src/proof', () => {
  it.each(vectors.proofs)('give the canonical text and hash: $name', (v) => {
    const proof = parseStrictJson(v.text);

    expect(canonicalJson(proof)).toBe(v.canonical);
    expect(isProof(proof) && hashProof(proof)).toBe(v.proof_hash);
    expect(canonicalJson(parseStrictJson(v.canonical))).toBe(v.canonical);
  });

  it.each(vectors.refused)('are refused, although JSON: $name', (v) => {
    expect(() => JSON.parse(v.text)).not.toThrow();
    expect(refusalOf(() => parseStrictJson(v.text))).toMatchObject({
      kind: 'fault',
      pointer: v.pointer,
    });
  });

  it.each(vectors.claims)('give claim hash $claim_hash', (v) => {
    const { created_at, description, expected_result, occurred_at, title } = v;

    expect(hashClaim({ created_at, description, expected_result, occurred_at, title })).toBe(
      v.claim_hash,
    );
  });

  it.each(vectors.leaves)('give leaf $leaf', (v) => {
    expect(leafHash(v)).toBe(v.leaf);
  });

  it.each(vectors.trees)('give root $root and its paths', ({ leaves, root, paths }) => {
    const tree = merkleTree(leaves);

    expect(tree.root).toBe(root);
    expect(leaves.map((_, i) => tree.path(i))).toEqual(paths);
  });

  it.each(vectors.payloads)('give payload $calldata and read it', ({ calldata, ...fields }) => {
    expect(encodePayload(fields as Payload)).toBe(calldata);
    expect(decodePayload(calldata)).toEqual(fields);
  });

  it.each(vectors.not_payloads)('are not a payload: $name', ({ calldata }) => {
    expect(decodePayload(calldata)).toBeNull();
  });
});

function claims() {
  return vectors.claims.map(({ canonical, claim_hash }) => ({ canonical, hash: claim_hash }));
}
